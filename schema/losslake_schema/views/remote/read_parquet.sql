-- Stands in for DuckDB's own function while views over URLs are made, since making a view reads its files, and their
-- server is the one that is making it. A temporary macro is not kept; the view calls the real function when it is read.
CREATE TEMP MACRO read_parquet(files, hive_partitioning := NULL, hive_types := NULL) AS TABLE
SELECT * FROM stand_in;
