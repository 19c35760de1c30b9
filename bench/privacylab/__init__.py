"""Texts for the privacy gate: made by a generator, written by hand, and (in ``blind``) by another hand."""
