"""The formats of transparency logs (C2SP tlog-tiles, tlog-proof, tlog-policy). Pure: the writer and the
reader stand on them and on nothing of each other."""
