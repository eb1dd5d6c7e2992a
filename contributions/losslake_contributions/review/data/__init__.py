"""Lists of the checks."""
