"""All adapters of the node, for what they recognise: they are never asked, so they need no session."""

from __future__ import annotations

from typing import cast

from adapters import registry
from adapters.fetch import Http
from node.core.settings import Adapters
from tests.manual_clock import ManualClock
from tests.unit.pipeline.understanding.clock import NOW

RECOGNISERS = registry.build(Adapters(), ManualClock(NOW), cast("Http", None))
