"""How far an answer can be relied on. Pure."""
