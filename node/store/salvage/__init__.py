"""Brings back what is whole in a damaged SQLite file of this program."""
