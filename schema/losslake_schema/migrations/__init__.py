"""How the tables of `losslake_schema.database` came to be what they are, one step a file in `versions/`."""
