"""Transparency logs that strangers can check: the C2SP tile layout, checkpoints, cosignatures and receipts.

``merkle``, ``tiles``, ``notes``, ``proofs`` and ``policy`` are pure rules over bytes, shared by all. The
writer and the reader stand on them and on nothing of each other.
"""
