"""The command line, on top of everything: one short file per command."""

__version__ = "0.1.0"
