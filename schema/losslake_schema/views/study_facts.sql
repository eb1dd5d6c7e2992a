-- One row per study, in the order of study_id, in which the studies of a workload are adjacent. content_digest: with its flagged
-- trials, and those that MISSED.
SELECT
    s.study_id, s.collection, s.dataset, s.model, s.optimizer, s.batch_size, s.metrics,
    concat(s.content_digest, ' ', (
        SELECT string_agg(f.trial_id, ',' ORDER BY f.trial_id)
        FROM base.flags AS f
        WHERE f.collection = s.collection AND f.dataset = s.dataset AND f.model = s.model AND f.optimizer = s.optimizer
            AND f.batch_size = s.batch_size
    ), ' ', (
        SELECT string_agg(t.trial_id, ',' ORDER BY t.trial_id) FROM base.trials AS t WHERE t.study_id = s.study_id AND t.status = 'MISSED'
    )) AS content_digest
FROM base.studies AS s
ORDER BY s.study_id;
