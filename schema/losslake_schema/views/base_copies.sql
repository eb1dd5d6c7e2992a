-- One row per trial and other log of the same run, by trial, round and path.
CREATE TABLE base.copies AS
SELECT * REPLACE (coalesce(batch_size, 0) AS batch_size) FROM read_parquet(getvariable('copies_files'), hive_partitioning = false);
