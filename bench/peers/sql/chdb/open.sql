-- What is done before the clock starts: the numbers of complete trials, and how a data file says a measurement.
CREATE DATABASE peers;
CREATE TABLE peers.complete ENGINE = Memory AS
SELECT
    concatWithSeparator('/', collection, dataset, model, optimizer) AS workload,
    assumeNotNull(batch_size) AS batch_size, assumeNotNull(trial_id) AS trial_id
FROM file({trials:String}, Parquet)
WHERE status = 'COMPLETE';
CREATE VIEW peers.measurements AS
SELECT batch_size, metric, trial_id, step, assumeNotNull(value) AS value
FROM file({files:String}, Parquet, 'metric String, trial_id Int64, step Int64, value Nullable(Float64),
    batch_size Int64');
