"""What is known and held of peers, in SQLite and in memory."""
