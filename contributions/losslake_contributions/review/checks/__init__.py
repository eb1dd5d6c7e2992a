"""Checks of runs before they are accepted: the same rules on a client and on the service."""
