"""How many files this process may open, and how they are shared out at the start.

Every connection is an open file to the system. Where connections may take them all, nothing else works any
more: no port accepts, no file of the store opens.
"""

from __future__ import annotations

import logging
import resource
from dataclasses import replace

from node.api.connections import ACCEPTED_MAX
from node.core.errors import Misconfigured
from node.core.server_settings import Server

log = logging.getLogger("neuroswarm")

OWN = 256
"""For the node's own files (some 60 when it is idle), its connections to sources (64), engines, peers and the
operator, and for commands' and models' processes."""
CONNECTIONS_MIN = 128
SPARE = 64
"""Connections beyond the requests at once: for who asks how the node is, and for who has yet to ask."""


def fitted(server: Server, sockets: int) -> Server:
    """The settings as far as this process has files for them; its limit is raised as far as they need it and
    the system lets it. ``sockets``: how many listen. Raises ``Misconfigured``."""
    shared = divided(server, raised(needed(server.connections_max, sockets)), sockets)
    if shared != server:
        log.warning(
            "event=few_descriptors connections=%d requests=%d: this process may open no more files than its "
            "hard limit; for more type: ulimit -n %d",
            shared.connections_max,
            shared.concurrent_requests_max,
            needed(server.connections_max, sockets),
        )
    return shared


def needed(connections: int, sockets: int) -> int:
    """Files for so many connections."""
    return connections + OWN + ACCEPTED_MAX * sockets


def divided(server: Server, files: int, sockets: int) -> Server:
    """The settings within so many files. Raises ``Misconfigured`` below ``CONNECTIONS_MIN`` connections."""
    connections = min(server.connections_max, files - needed(0, sockets))
    if connections < min(CONNECTIONS_MIN, server.connections_max):
        least = needed(CONNECTIONS_MIN, sockets)
        raise Misconfigured(
            f"this process may open {files} files, and a node needs {least}; type: ulimit -n {least}"
        )
    requests = min(server.concurrent_requests_max, connections - SPARE)
    return replace(server, connections_max=connections, concurrent_requests_max=requests)


def raised(wanted: int) -> int:
    """Raise the soft limit of open files to ``wanted``, or as far as the hard one; what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (wanted if one == resource.RLIM_INFINITY else one for one in (soft, hard))
    if soft >= wanted:
        return soft
    most = min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    except (OSError, ValueError):  # some systems cap it below the hard limit
        return soft
    return most
