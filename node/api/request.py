"""Where a request's parts lie: what the door has found out of it, and what all routes are answered from."""

from __future__ import annotations

from aiohttp import web

from node.api.access import Access, Ticket
from node.core.caller import Caller
from node.core.server_settings import Server
from node.pipeline.service import Service

SERVICE = web.AppKey("service", Service)
LIMITS = web.AppKey("limits", Server)
ACCESS = web.AppKey("access", Access)
CALLER = web.RequestKey("caller", Caller)
"""Who asks, from authentication; missing where a stranger asks for what is open to everybody."""
TICKET = web.RequestKey("ticket", Ticket)
"""The same, with what he may do and use up."""
ID = web.RequestKey("id", str)
"""The request's id: the client's own where it is well formed."""
