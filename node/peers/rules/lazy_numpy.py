"""numpy, imported when it is first used: a node starts without it, and then shares nothing. Pure."""

from __future__ import annotations

from typing import Any

from node.core.errors import Unavailable


class LaterNumpy:
    """Stands for the module."""

    def __getattr__(self, name: str) -> Any:
        try:
            import numpy as np
        except ImportError as exc:
            raise Unavailable("sets of what is shared need numpy, which is not installed") from exc
        return getattr(np, name)
