# ruff: noqa: INP001 - a script, no package
"""The container's health check: exit status 0 when the node here answers /livez."""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request

TIMEOUT_S = 4.0


def healthy(port: str) -> bool:
    """Whether a node on this machine's loopback says that it lives."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/livez", timeout=TIMEOUT_S) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError, ValueError) as exc:
        sys.stderr.write(f"no healthy node on port {port}: {exc}\n")
        return False


if __name__ == "__main__":
    sys.exit(not healthy(os.environ.get("NEUROSWARM_SERVER__PORT", "8642")))
