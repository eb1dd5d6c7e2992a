-- One row per trial, contributor and role.
CREATE TABLE base.contributors AS
SELECT * REPLACE (coalesce(batch_size, 0) AS batch_size) FROM read_parquet(getvariable('contributors_files'), hive_partitioning = false) ORDER BY ALL;
