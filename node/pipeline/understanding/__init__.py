"""Station *understand*: what kind of question a text is, and which sources its row of the table tries.

``language.reading`` cuts a text into sentences and words, ``languages`` and ``rules`` hold the rules as data,
``question`` decides whether anything is asked, ``history`` reads governance questions, ``route`` holds the
route table and the ``Router``. Pure: no I/O, no clock, no randomness; every function here answers for any
text.
"""
