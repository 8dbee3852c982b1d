"""Audit of an encoder or a decoder: its texts, its projections, and what is measured of them."""
