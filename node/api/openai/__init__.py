"""The door for clients that speak OpenAI's API: its requests, replies, streams and errors."""
