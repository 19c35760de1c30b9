"""llama.cpp with one GGUF in a child process: both sides of it, and the protocol between them."""
