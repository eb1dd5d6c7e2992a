-- One row per trial of the admitted statuses, in a range of study_id.
SELECT
    s.batch_size, t.trial_id, t.status, t.steps, t.last_step, t.n_evaluations, t.n_nonfinite, t.parameters, t.attributes,
    t.content_digest
FROM base.trials AS t
JOIN base.studies AS s USING (study_id)
WHERE t.study_id BETWEEN $first_study AND $last_study AND list_contains($statuses, t.status)
ORDER BY t.study_id, t.trial_id;
