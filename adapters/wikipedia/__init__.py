"""Summaries from Wikipedia: context for the model, an answer where it is named."""

from __future__ import annotations

from adapters.wikipedia.adapter import Wikipedia

__all__ = ["Wikipedia"]
