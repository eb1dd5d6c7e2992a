-- One row per collection.
CREATE TABLE base.collections AS
SELECT * FROM read_parquet(getvariable('collections_files'), hive_partitioning = false) ORDER BY collection;
