-- One row per collection: what it covers.
SELECT
    s.collection,
    c.title,
    c.licence,
    coalesce(c.source_url, '') AS source,
    count(DISTINCT (s.dataset, s.model, s.optimizer)) AS n_workloads,
    min(s.batch_size) FILTER (s.batch_size > 0) AS smallest,
    max(s.batch_size) FILTER (s.batch_size > 0) AS largest,
    CAST(sum(t.n_trials) AS BIGINT) AS n_trials,
    CAST(sum(s.n_measurements) AS BIGINT) AS n_measurements
FROM base.studies AS s
LEFT JOIN base.collections AS c USING (collection)
LEFT JOIN (SELECT study_id, count(*) AS n_trials FROM base.trials GROUP BY study_id) AS t USING (study_id)
GROUP BY ALL
ORDER BY n_trials DESC, s.collection;
