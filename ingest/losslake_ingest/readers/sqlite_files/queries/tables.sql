-- A row is one ordinary table of an SQLite database, neither a view nor a virtual table.
SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0
