"""Mappings for published logs, for use with `losslake ingest --map`."""
