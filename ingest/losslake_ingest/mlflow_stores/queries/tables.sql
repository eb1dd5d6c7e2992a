-- A row is one table that the database really has: no view, no virtual table. For SQLite.
SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0
