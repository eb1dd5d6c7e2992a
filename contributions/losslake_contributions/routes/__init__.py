"""The routes of the contribution service."""
