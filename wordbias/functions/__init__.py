"""The public functions: each is also a command. One file a function, with its tables."""
