"""Connections to engines outside this process that more than one room uses."""
