-- One row per metric; metric_id numbers the metrics in order of name.
CREATE TABLE base.metrics AS
SELECT CAST(row_number() OVER (ORDER BY metric) AS SMALLINT) AS metric_id, *
FROM read_parquet(getvariable('metrics_files'), hive_partitioning = false)
ORDER BY metric_id;
