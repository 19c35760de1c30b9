"""Station 9, record: what the node decided and why, in a log that shows tampering."""
