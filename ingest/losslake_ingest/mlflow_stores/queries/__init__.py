"""SQL statements, one per file, each headed by what one of its rows is."""
