"""What a community has written: documents in, their chunks found, cited answers out."""
