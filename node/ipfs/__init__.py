"""What IPFS clients and daemons see: the head, blocks of logs, the copy in a daemon."""
