"""Which blocks answer a trustless gateway's request, and in which order. Knows no HTTP."""
