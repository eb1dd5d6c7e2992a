-- One row per study and metric that it measures, with what result_at needs, from the registered `frontiers`. hits: the
-- measurements of COMPLETE trials, without flagged ones, better than any before them in the study, by step, a tie to the lower trial_id; the first
-- one better than a target is the study's first hit. bests: the best value of each COMPLETE trial. Both are null where the
-- direction is unknown. comparator: that of the workload's goals in the metric.
CREATE TABLE base.frontiers AS
SELECT
    s.collection, s.dataset, s.model, s.optimizer, s.batch_size, m.metric, m.direction,
    coalesce(max(g.comparator), 'strict') AS comparator,
    CAST(any_value(s.n_complete) - coalesce(any_value(k.n_complete), 0) AS BIGINT) AS n_trials, any_value(f.hits) AS hits, any_value(f.bests) AS bests
FROM base.studies AS s
JOIN base.metrics AS m ON list_contains(s.metrics, m.metric)
LEFT JOIN frontiers AS f ON f.study_id = s.study_id AND f.metric = m.metric
LEFT JOIN base.goals AS g ON g.metric = m.metric AND g.collection = s.collection AND g.dataset = s.dataset
    AND g.model = s.model AND g.optimizer = s.optimizer
LEFT JOIN (
    SELECT t.study_id, count(*) AS n_complete
    FROM base.flags AS e
    JOIN base.trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
    WHERE t.status = 'COMPLETE'
    GROUP BY t.study_id
) AS k ON k.study_id = s.study_id
GROUP BY s.study_id, s.collection, s.dataset, s.model, s.optimizer, s.batch_size, m.metric, m.direction
ORDER BY s.study_id, m.metric;
