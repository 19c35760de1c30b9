"""Grammar that several adapters read questions with: times and places."""
