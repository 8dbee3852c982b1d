"""Removals fitted inside models, sweeps of their settings, and audits of models."""
