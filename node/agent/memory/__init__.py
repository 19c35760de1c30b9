"""What the node remembers of people and of their organisation: few lines, readable and editable by hand.

``facts`` asks a model which facts a turn tells and reads its reply; ``worth`` decides which of them are kept;
``book`` is one file of lines and how a new one joins them; ``books`` are the files of all tenants; ``keeper``
works behind replies. Source documents 001 (section 4) and 003 (section 5).
"""
