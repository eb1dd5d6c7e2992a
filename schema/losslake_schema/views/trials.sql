-- One row per trial: one training run, with its metaparameters and status. also_submitted: JSON, its other logs.
CREATE VIEW trials AS
SELECT
    collection, dataset, model, optimizer, nullif(batch_size, 0) AS batch_size, trial_id, status, steps, parameters, attributes, n_evaluations,
    n_nonfinite, last_step, source, source_sha256, content_digest, also_submitted
FROM base.trials
LEFT JOIN base.also_submitted USING (collection, dataset, model, optimizer, batch_size, trial_id);
