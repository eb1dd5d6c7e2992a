-- One row per trial, read from the release's file over HTTP; $files is replaced by its URL.
CREATE VIEW base.trials AS
SELECT
    collection, dataset, model, optimizer, batch_size, trial_id, status, steps, parameters, attributes, n_evaluations,
    n_nonfinite, last_step, source, source_sha256, content_digest
FROM read_parquet($files, hive_partitioning = false);
