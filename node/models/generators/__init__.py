"""Drivers of language models: a prompt to an engine, and the words back."""
