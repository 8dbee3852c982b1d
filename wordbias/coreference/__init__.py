"""Coreference: documents with clusters of mentions, their files, scores, and a model that finds them."""
