"""The adapter ``nba-scores``."""

from adapters.scores.adapter import Scores

__all__ = ["Scores"]
