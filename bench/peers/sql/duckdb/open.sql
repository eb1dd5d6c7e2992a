-- What is done before the clock starts: the numbers of complete trials, and how a data file says a measurement.
SET parquet_metadata_cache = true;
CREATE TABLE complete AS
SELECT concat_ws('/', collection, dataset, model, optimizer) AS workload, batch_size, trial_id
FROM read_parquet($trials)
WHERE status = 'COMPLETE';
CREATE MACRO measurements(files) AS TABLE
SELECT batch_size, metric, trial_id, step, value
FROM read_parquet(files, hive_partitioning = true, hive_types = {
    'collection': VARCHAR, 'dataset': VARCHAR, 'model': VARCHAR, 'optimizer': VARCHAR, 'batch_size': BIGINT
});
