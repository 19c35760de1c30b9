"""Governance proposals of named spaces, from Snapshot."""

from __future__ import annotations

from adapters.snapshot.adapter import Snapshot

__all__ = ["Snapshot"]
