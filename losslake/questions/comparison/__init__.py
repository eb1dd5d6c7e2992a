"""Competing searches, and the differences between them."""
