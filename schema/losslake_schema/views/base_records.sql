-- One row per record, straight from the release's Parquet files, whose list stands in place of $files. A query for one study
-- reads only its files: DuckDB takes the keys from their names. Columns are qualified, or DuckDB would take `metric` for the
-- parameter of a macro that reads this view.
CREATE VIEW base.records AS
SELECT
    r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.metric, r.trial_id, r.step,
    r.step - r.interval AS previous_step, coalesce(r.value, r.digits / r.divisor) AS value, r.elapsed_s
FROM read_parquet($files, hive_partitioning = true, hive_types = {
    'collection': VARCHAR, 'dataset': VARCHAR, 'model': VARCHAR, 'optimizer': VARCHAR, 'batch_size': BIGINT
}) AS r;
