"""Where a request's parts lie: what the door has found out of it, and what all routes are answered from."""

from __future__ import annotations

from aiohttp import web

from node.core.model import Caller
from node.core.settings import Server
from node.pipeline.service import Service

SERVICE = web.AppKey("service", Service)
LIMITS = web.AppKey("limits", Server)
CALLER = web.RequestKey("caller", Caller)
"""Who asks, from authentication."""
ID = web.RequestKey("id", str)
"""The request's id: the client's own where it is well formed."""
