"""Scaling science as pure functions over arrays: without files, releases or HTTP, so they can be imported anywhere."""
