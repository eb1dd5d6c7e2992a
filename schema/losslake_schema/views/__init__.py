"""The SQL views and macros of a release."""
