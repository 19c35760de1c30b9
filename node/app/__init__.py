"""The composition root: builds a node once, in order, and leaves it in reverse; the operator's commands."""
