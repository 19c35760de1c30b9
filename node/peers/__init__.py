"""Sharing with nodes that need not be trusted."""
