"""Logs in, released Parquet out."""
