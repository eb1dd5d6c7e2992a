"""Runs that are looked at while they train."""
