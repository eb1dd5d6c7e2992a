-- One row per measurement: the value of a metric at a step of a trial.
--
-- Read from the release's Parquet files. DuckDB has no parameters in views, so $files is replaced by the quoted list of files.
-- Columns are qualified for the macros that read this view, as in base.records.
CREATE VIEW measurements AS
SELECT
    m.collection, m.dataset, m.model, m.optimizer, m.batch_size, m.metric, m.trial_id, m.step, m.value, m.elapsed_s
FROM read_parquet($files, hive_partitioning = true, hive_types = {
    'collection': VARCHAR, 'dataset': VARCHAR, 'model': VARCHAR, 'optimizer': VARCHAR, 'batch_size': BIGINT
}) AS m;
