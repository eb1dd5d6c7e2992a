"""Mappings for published logs, to be used by `losslake ingest --map`."""
