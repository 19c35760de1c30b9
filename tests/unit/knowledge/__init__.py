"""What a community has written."""
