"""The service's SQL, one statement per file; each says what a row is."""
