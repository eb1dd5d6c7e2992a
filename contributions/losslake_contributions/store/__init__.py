"""The database of contributions: tables, migrations, transactions, and private files."""
