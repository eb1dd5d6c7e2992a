-- One row per study.
SELECT
    concat_ws('/', collection, dataset, model, optimizer, coalesce(CAST(nullif(batch_size, 0) AS VARCHAR), 'scheduled')) AS study,
    concat_ws('/', collection, dataset, model, optimizer) AS workload,
    collection, dataset, model, optimizer, nullif(batch_size, 0) AS batch_size, batch_unit, train_steps, early_stopping, parameter_configs, metrics,
    n_trials, n_complete, n_missed, n_incomplete, n_infeasible, n_quarantined, n_evaluations, n_measurements, n_nonfinite,
    format, source, source_digest, content_digest, schedule
FROM base.studies;
