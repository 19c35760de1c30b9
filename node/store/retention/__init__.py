"""How long an answer may live, and what ends it: expiry, eviction, invalidation, erasure."""
