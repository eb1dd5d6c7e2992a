-- One row per trial of a competition of AlgoPerf, at the validation target of its workload: the first step that reaches it, the
-- seconds up to there, and the number of evaluations before it; null if it never does.
SELECT
    t.optimizer AS submission, concat(t.dataset, '/', t.model) AS place, t.batch_size, t.trial_id,
    t.attributes['study'] AS study, s.steps,
    max(m.elapsed_s) FILTER (m.step = s.steps) AS seconds,
    count(m.step) FILTER (m.step < s.steps) AS n_before
FROM trials AS t
JOIN goals AS g USING (collection, dataset, model, optimizer)
JOIN steps_to_target AS s
    ON s.collection = t.collection AND s.dataset = t.dataset AND s.model = t.model AND s.optimizer = t.optimizer
    AND s.batch_size IS NOT DISTINCT FROM t.batch_size AND s.trial_id = t.trial_id AND s.metric = g.metric AND s.target = g.target
LEFT JOIN measurements AS m
    ON m.collection = t.collection AND m.dataset = t.dataset AND m.model = t.model AND m.optimizer = t.optimizer
    AND m.batch_size IS NOT DISTINCT FROM t.batch_size AND m.trial_id = t.trial_id AND m.metric = g.metric
WHERE t.collection = $collection AND g.source = 'AlgoPerf, validation_target_value'
GROUP BY ALL
ORDER BY submission, place, study, trial_id
