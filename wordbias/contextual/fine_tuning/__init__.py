"""Fine-tuning of encoders: natural language inference, or next-sentence prediction."""
