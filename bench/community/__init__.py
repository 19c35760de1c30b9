"""A fictitious community, what it wrote, and questions on it: data to measure retrieval with."""
