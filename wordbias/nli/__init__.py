"""Natural language inference: the room for models and marked attribute bias; empty so far."""
