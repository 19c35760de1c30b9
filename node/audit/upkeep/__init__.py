"""Keeps the files of the logs whole: looks at all of them, mends what is damaged, names what is lost."""
