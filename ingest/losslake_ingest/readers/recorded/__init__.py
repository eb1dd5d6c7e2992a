"""Runs of losslake.record: their attempts, and what is missing of them."""
