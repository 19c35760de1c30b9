"""The sandbox: code that a model wrote runs in a process of its own, which reaches nothing of the host."""
