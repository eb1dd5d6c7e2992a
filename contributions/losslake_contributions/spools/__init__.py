"""Folders of runs as they are sent: reading, converting logs of other formats, and removing private data."""
