"""The protocol between clients and the contribution service: its documents and limits. Imports no server."""
