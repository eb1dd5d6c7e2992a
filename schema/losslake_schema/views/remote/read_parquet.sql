-- Replaces DuckDB's function while views over URLs are created: creating a view reads its files, which the server that
-- creates it would have to serve to itself. The temporary macro is not stored; queries of the view call the real function.
CREATE TEMP MACRO read_parquet(files, hive_partitioning := NULL, hive_types := NULL) AS TABLE
SELECT * FROM stand_in;
