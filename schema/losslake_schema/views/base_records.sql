-- One row per record, read from the release's Parquet files; $files is replaced by their list. A query for one study reads
-- only its files, since DuckDB takes the keys from the paths. Columns are qualified: in a macro that reads this view, DuckDB
-- would take a bare `metric` for the macro's parameter. Tables of `base` have batch_size 0 where it changes, stored as null, so
-- that joins by the keys of a study hold.
CREATE VIEW base.records AS
SELECT
    r.collection, r.dataset, r.model, r.optimizer, coalesce(r.batch_size, 0) AS batch_size, r.metric, r.trial_id, r.step,
    r.previous_step, r.value, r.elapsed_s
FROM read_parquet($files, hive_partitioning = true, hive_types = {
    'collection': VARCHAR, 'dataset': VARCHAR, 'model': VARCHAR, 'optimizer': VARCHAR, 'batch_size': BIGINT
}) AS r;
