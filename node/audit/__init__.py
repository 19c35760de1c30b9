"""What the node decided and why, in logs that show tampering."""
