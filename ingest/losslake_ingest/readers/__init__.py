"""Readers of the files that formats are made of: tables, event files, stores and text. All of them are untrusted."""
