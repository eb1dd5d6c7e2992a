-- One row: a study, with what is known of its collection.
SELECT
    s.batch_unit, s.train_steps, s.early_stopping, s.parameter_configs,
    s.n_trials, s.n_complete, s.n_missed, s.n_incomplete, s.n_infeasible, s.n_quarantined, s.n_evaluations, s.n_measurements, s.n_nonfinite,
    s.format, s.source, s.source_digest, s.content_digest,
    c.title, c.licence, c.citation, c.source_url
FROM base.studies AS s
LEFT JOIN base.collections AS c USING (collection)
WHERE s.study_id = $study_id;
