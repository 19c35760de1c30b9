"""Blocks, records and small state in SQLite."""
