"""What the node knows of languages: a folder of tables for each (``data/en`` …), and what reads them.

``conversation`` recognises conversation and orders on the last answer, ``tongue`` tells which language a text
is in, ``tables`` reads tables of words. Pure: nothing here asks a model, an embedder or an adapter.
"""
