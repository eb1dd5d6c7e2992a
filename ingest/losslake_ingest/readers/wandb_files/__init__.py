"""Readers of Weights & Biases files: panels, histories, offline runs."""
