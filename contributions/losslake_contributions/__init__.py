"""Contributions: runs of anyone, sent, checked, reviewed and accepted into a lake."""
