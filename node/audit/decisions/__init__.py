"""The decision log: entries, their commitments, epochs, and explanations in plain words."""
