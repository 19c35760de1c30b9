"""A laboratory for the cache's gate: question families, streams, training and evaluation of its model."""
