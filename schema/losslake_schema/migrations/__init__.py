"""The Alembic migrations of the tables of `losslake_schema.database`, one file each in `versions/`."""
