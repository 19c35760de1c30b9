"""HTTP: bytes to values and back, one file a subject, and the one map from errors to statuses."""
