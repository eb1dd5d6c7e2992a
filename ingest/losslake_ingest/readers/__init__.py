"""Readers of the files that formats are made of: tables, event files, stores, text; whatever a stranger wrote."""
