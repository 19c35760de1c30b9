"""What is stored and speaks to a question: evidence for a model, or to be quoted."""
