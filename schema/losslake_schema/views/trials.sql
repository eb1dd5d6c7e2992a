-- One row per trial: one training run, with its metaparameters and status.
CREATE VIEW trials AS
SELECT
    collection, dataset, model, optimizer, batch_size, trial_id, status, steps, parameters, attributes, n_evaluations,
    n_nonfinite, last_step, source, source_sha256, content_digest
FROM base.trials;
