"""Bytes of files to text: one module for each kind, a child process that runs them, and the way to it."""
