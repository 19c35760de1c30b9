"""Cosignatures: others' witnesses of our logs, and our witness of others' logs."""
