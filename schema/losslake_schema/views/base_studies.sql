-- One row per study; study_id numbers the studies in order of their keys, so that the studies of a workload are adjacent.
CREATE TABLE base.studies AS
SELECT CAST(row_number() OVER (ORDER BY collection, dataset, model, optimizer, batch_size) AS INTEGER) AS study_id, *
FROM (SELECT * REPLACE (coalesce(batch_size, 0) AS batch_size) FROM read_parquet(getvariable('studies_files'), hive_partitioning = false))
ORDER BY study_id;
