"""Audit of an encoder or a decoder: texts, projections, and what is measured on their vectors."""
