"""Keeping a lake small: what nothing needs any more goes, and nothing that a listed release needs."""
