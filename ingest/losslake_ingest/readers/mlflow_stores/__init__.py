"""Stores of MLflow: folders of files, SQLite files, and databases behind a URL."""
