"""Readers of Weights & Biases files: panels, histories, offline runs; and the filter of private data."""
