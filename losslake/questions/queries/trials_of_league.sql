-- One row per trial of a competition of AlgoPerf, at the validation target of its workload: the first step that reaches it, the
-- seconds up to there, and the number of evaluations before it; null if it never does.
SELECT
    t.optimizer AS submission, concat(t.dataset, '/', t.model) AS place, t.batch_size, t.trial_id,
    t.attributes['study'] AS study, s.steps,
    max(m.elapsed_s) FILTER (m.step = s.steps) AS seconds,
    count(m.step) FILTER (m.step < s.steps) AS n_before
FROM trials AS t
JOIN goals AS g USING (collection, dataset, model, optimizer)
JOIN steps_to_target AS s USING (collection, dataset, model, optimizer, batch_size, trial_id, metric, target)
LEFT JOIN measurements AS m USING (collection, dataset, model, optimizer, batch_size, trial_id, metric)
WHERE t.collection = $collection AND g.source = 'AlgoPerf, validation_target_value'
GROUP BY ALL
ORDER BY submission, place, study, trial_id
