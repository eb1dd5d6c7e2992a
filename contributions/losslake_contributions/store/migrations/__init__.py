"""Migrations of the tables of contributions, for Alembic."""
