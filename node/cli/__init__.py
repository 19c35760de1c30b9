"""The commands of ``neuroswarm``, one file each: arguments in, text out, no rule of their own."""
