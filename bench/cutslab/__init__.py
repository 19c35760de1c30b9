"""What ``python -m bench.power_cuts`` is made of: promises, work, looks, and the process that is cut."""
