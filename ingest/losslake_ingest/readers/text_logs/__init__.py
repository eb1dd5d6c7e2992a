"""Logs of free text: lines matched by regular expressions, and expressions proposed from lines."""
