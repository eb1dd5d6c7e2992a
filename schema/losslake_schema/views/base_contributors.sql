-- One row per trial, contributor and role.
CREATE TABLE base.contributors AS
SELECT * FROM read_parquet(getvariable('contributors_files'), hive_partitioning = false) ORDER BY ALL;
