-- One row per measurement: the value of a metric at a step of a trial.
--
-- Straight from the release's Parquet files. DuckDB takes no parameters in a view, so the list of files stands in place of
-- $files, quoted by us.
CREATE VIEW measurements AS
SELECT
    collection, dataset, model, optimizer, batch_size, metric, trial_id, step,
    coalesce(value, digits / divisor) AS value, elapsed_s
FROM read_parquet($files, hive_partitioning = true, hive_types = {
    'collection': VARCHAR, 'dataset': VARCHAR, 'model': VARCHAR, 'optimizer': VARCHAR, 'batch_size': BIGINT
});
