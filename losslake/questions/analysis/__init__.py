"""Analyses of what a release holds: each gives arrays to the mathematics and makes an answer of what it finds."""
