"""Text to unit vectors, behind one port, and whether a note holds an answer."""
