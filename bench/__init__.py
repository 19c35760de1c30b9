"""Measured claims: each module is a command (`python -m bench.NAME`) that prints its figures."""
