-- One row per study.
SELECT
    concat_ws('/', collection, dataset, model, optimizer, batch_size) AS study,
    concat_ws('/', collection, dataset, model, optimizer) AS workload,
    collection, dataset, model, optimizer, batch_size, batch_unit, train_steps, early_stopping, parameter_configs, metrics,
    n_trials, n_complete, n_missed, n_incomplete, n_infeasible, n_quarantined, n_evaluations, n_measurements, n_nonfinite,
    format, source, source_digest, content_digest
FROM base.studies;
