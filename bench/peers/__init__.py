"""Other caches, run on the same streams with the same vectors as ours."""
