"""Figures of published papers: data files that describe them, and the code that draws them from a release."""
