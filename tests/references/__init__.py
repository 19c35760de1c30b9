"""Plain implementations in memory that contract tests hold the real ones against, and simulations run on."""
