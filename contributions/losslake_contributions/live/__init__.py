"""Runs that are shown while they train, with stored ones."""
