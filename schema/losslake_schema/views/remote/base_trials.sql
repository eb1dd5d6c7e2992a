-- One row per trial, read from the release's file, with the status of those that MISSED; over HTTP, $files is replaced by its URL.
CREATE VIEW base.trials AS
SELECT
    t.collection, t.dataset, t.model, t.optimizer, coalesce(t.batch_size, 0) AS batch_size, t.trial_id,
    CASE WHEN m.trial_id IS NULL THEN t.status ELSE 'MISSED' END AS status,
    t.steps, t.parameters, t.attributes, t.n_evaluations, t.n_nonfinite, t.last_step, t.source, t.source_sha256, t.content_digest
FROM read_parquet($files, hive_partitioning = false) AS t
LEFT JOIN base.missed AS m
    ON m.collection = t.collection AND m.dataset = t.dataset AND m.model = t.model AND m.optimizer = t.optimizer
    AND m.batch_size = coalesce(t.batch_size, 0) AND m.trial_id = t.trial_id;
