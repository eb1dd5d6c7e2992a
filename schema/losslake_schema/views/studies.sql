-- One row per study: a metaparameter search for one workload at one batch size; or, with batch_size null, its trials whose
-- batch size changes. schedule: the name of these changes if all trials of such a study share them; null otherwise.
CREATE VIEW studies AS
SELECT
    collection, dataset, model, optimizer, nullif(batch_size, 0) AS batch_size, batch_unit, train_steps, early_stopping,
    parameter_configs, metrics, n_trials, n_complete, n_incomplete, n_infeasible, n_quarantined, n_evaluations, n_measurements,
    n_nonfinite, format, source, source_digest, content_digest, n_missed, schedule
FROM base.studies;
