"""Scaling science as pure functions over arrays: nothing of files, releases or HTTP, to be imported anywhere."""
