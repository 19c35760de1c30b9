"""The agent: a model that chooses tools itself, within four steps, and answers from what they said."""
