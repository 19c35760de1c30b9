"""IPFS formats as pure codecs: bytes in, values out, no network and no files."""
