-- One row per record of a workload that isn't unchanged, as in base.records; $files is replaced by the list of their files.
CREATE TEMP VIEW changed_records AS
SELECT collection, dataset, model, optimizer, coalesce(batch_size, 0) AS batch_size, metric, trial_id, step, value
FROM read_parquet($files, hive_partitioning = true, hive_types = {
    'collection': VARCHAR, 'dataset': VARCHAR, 'model': VARCHAR, 'optimizer': VARCHAR, 'batch_size': BIGINT
})
ANTI JOIN unchanged USING (collection, dataset, model, optimizer);
