"""Rules of sharing: entries, keys, admission, tiers, sets. Pure."""
