"""Logs that are tables, a row per evaluation: CSV and JSON lines, from their bytes to runs."""
