"""The semantic cache: the look-up, and which stored answer may be served."""
