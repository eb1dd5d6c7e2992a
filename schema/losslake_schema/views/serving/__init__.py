"""Variants of the SQL views for the serving file, and its own tables."""
