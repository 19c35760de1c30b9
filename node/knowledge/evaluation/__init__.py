"""How well documents are found and questions about them answered, on a file of questions."""
