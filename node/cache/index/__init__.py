"""Vector indexes in memory and on disk, and the embedders that they belong to."""
