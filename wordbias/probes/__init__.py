"""Probes of representations: the room for MDL online codes and CEAT; empty so far."""
