"""Variants of the SQL views for reading a release over HTTP."""
