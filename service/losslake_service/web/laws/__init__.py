"""The contents of the page of scaling laws: published laws for a planned training, and laws of what is stored."""
