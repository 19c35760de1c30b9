"""Publishing for peers, following what they publish, and letting it in."""
