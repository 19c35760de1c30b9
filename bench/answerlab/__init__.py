"""Answers of real models to labelled questions: the data, the labels, and what is learnt from them."""
