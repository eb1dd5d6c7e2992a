"""SQLite files of strangers, read as data."""
