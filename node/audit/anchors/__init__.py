"""Checkpoints anchored outside, in a Bitcoin transaction."""
