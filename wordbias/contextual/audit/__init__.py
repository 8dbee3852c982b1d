"""Audit of an encoder: its texts, its projections, and what is measured on their vectors."""
