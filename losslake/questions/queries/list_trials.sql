-- One row per trial.
SELECT
    concat_ws('/', s.collection, s.dataset, s.model, s.optimizer, coalesce(CAST(nullif(s.batch_size, 0) AS VARCHAR), 'scheduled'), t.trial_id) AS trial,
    s.collection, s.dataset, s.model, s.optimizer, nullif(s.batch_size, 0) AS batch_size,
    t.trial_id, t.status, t.steps, t.last_step, t.n_evaluations, t.n_nonfinite, t.parameters, t.attributes,
    t.source, t.source_sha256, t.content_digest, c.also_submitted
FROM base.trials AS t
JOIN base.studies AS s USING (study_id)
LEFT JOIN base.also_submitted AS c
    ON c.collection = s.collection AND c.dataset = s.dataset AND c.model = s.model AND c.optimizer = s.optimizer
    AND c.batch_size = s.batch_size AND c.trial_id = t.trial_id;
