"""Rules for sharing with nodes that need not be trusted: entries, keys, admission, tiers, sets. Pure."""
