"""The port: bound or refused with one sentence that says who holds it and what to type.

Imports little, so that a command can look before models and indices are loaded."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import socket

from node.core.errors import Misconfigured

ASK_S = 0.5
"""How long whoever holds the port is asked for its name."""
_REPLY_BYTES_MAX = 65_536
_PORT_MAX = 65_535


def check(host: str, port: int) -> None:
    """Raises ``Misconfigured`` where nobody could listen there now."""
    for one in bound(host, port):
        one.close()


def bound(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of ``host``, all on one port. Raises ``Misconfigured``."""
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, address in dict.fromkeys((family, address[0]) for family, _, _, _, address in found):
            where = (address, sockets[0].getsockname()[1] if sockets else port)
            try:
                sockets.append(socket.create_server(where, family=family, backlog=128))
            except OSError as exc:
                # A name such as localhost may stand for a kind of address that this machine does not have.
                if exc.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) or not sockets:
                    raise
    except OSError as exc:
        for one in sockets:
            one.close()
        raise Misconfigured(_why(host, port, exc)) from exc
    return sockets


def _why(host: str, port: int, exc: OSError) -> str:
    if exc.errno == errno.EADDRINUSE:
        other = port + 1 if port < _PORT_MAX else port - 1
        return (
            f"port {port} of {host} is taken by {_holder(host, port)}; "
            f"for another port type: neuroswarm serve --port {other}"
        )
    if exc.errno == errno.EACCES:
        return f"this user may not listen on port {port}; for another type: neuroswarm serve --port 8642"
    return f"cannot listen on {host}:{port}: {exc.strerror} (settings server.host and server.port)"


def _holder(host: str, port: int) -> str:
    """Who answers there: another node by its own word, or some program."""
    asked = http.client.HTTPConnection(host, port, timeout=ASK_S)
    with contextlib.closing(asked), contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        asked.request("GET", "/peers/identity")
        said = json.loads(asked.getresponse().read(_REPLY_BYTES_MAX))
        if isinstance(said, dict) and str(said.get("root", "")).startswith("did:key:"):
            return "another neuroswarm node"
    return "another program"
