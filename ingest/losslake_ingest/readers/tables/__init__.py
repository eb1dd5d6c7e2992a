"""Logs in tables with a row per evaluation: CSV and JSON lines."""
