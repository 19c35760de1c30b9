"""Work beside the road: started by a schedule or a command, never by a question."""
