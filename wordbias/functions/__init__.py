"""The public functions: each is also a command. One file a function, with its tables.

`wordbias` itself lists them; nothing here is imported before it is used.
"""
