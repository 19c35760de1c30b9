"""The gate: does a stored answer answer this question? Pure rules, word tables and trees."""
