"""SQL about the runs of a draft, in its releases."""
