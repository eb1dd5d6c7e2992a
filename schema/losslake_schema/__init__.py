"""The data model: names, tables, metrics, goals, targets, SQL views and migrations."""
