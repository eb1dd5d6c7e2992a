"""SQL statements, one per file, each with a comment that describes its rows."""
