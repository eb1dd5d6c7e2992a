-- One row per validation of a run of modded-nanogpt's records.
SELECT t.model, t.optimizer, t.batch_size, t.trial_id, t.attributes['recipe'] AS recipe, t.source, m.step, m.value, m.elapsed_s
FROM trials AS t
JOIN measurements AS m USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE t.collection = $collection AND m.metric = $metric
ORDER BY t.model, t.optimizer, t.batch_size, t.trial_id, m.step
