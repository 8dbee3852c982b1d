"""The commands: parse options, call the library, print rows. No mathematics here."""
