"""Coreference: documents, their files and scores, and a model that finds clusters of mentions."""
