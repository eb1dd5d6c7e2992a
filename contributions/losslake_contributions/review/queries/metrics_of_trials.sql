-- One row per metric of each trial that was read from one of the runs $runs.
SELECT DISTINCT m.collection, m.dataset, m.model, m.optimizer, m.batch_size, m.trial_id, m.metric
FROM measurements AS m
JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE t.source IN (SELECT unnest($runs))
