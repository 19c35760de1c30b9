"""What the node knows of languages: one data file for each (``en.json`` …), read by ``phrases``.

``conversation`` recognises conversation and orders on the last answer, ``tongue`` tells which language a text
is in. Pure: nothing here asks a model, an embedder or an adapter.
"""
