"""Backups: a data directory and its log as parts named by their hash, made beside a running node."""
