"""Import and export: the index file, the cache as lines of JSON, CAR files, embeddings for legacy entries."""
