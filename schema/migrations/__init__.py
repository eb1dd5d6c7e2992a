"""How the tables of `schema.database` came to be what they are, one step a file in `versions/`."""
