"""Training a classification head on an encoder: inferences, or what sentence comes next."""
