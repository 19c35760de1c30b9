"""The child of the sandbox without its first wall: what is behind it has to hold alone."""

from __future__ import annotations

import sys

from node.agent.sandbox import child

if __name__ == "__main__":
    vars(child)["refusal"] = lambda _tree, _allowed: None
    sys.argv = ["unjudged"]
    child.main()
