"""A transparency log on disk: journal and publisher, reader and verifier."""
