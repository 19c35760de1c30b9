"""The door for agents: the Model Context Protocol, over HTTP here and over stdio by ``neuroswarm mcp``."""
