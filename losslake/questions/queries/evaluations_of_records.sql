-- One row per validation of a run of modded-nanogpt's records.
SELECT
    t.model, t.optimizer, t.batch_size, t.trial_id, t.source, m.step, m.value, m.elapsed_s,
    concat_ws('/', trim(t.attributes['recipe'], '"'), trim(t.attributes['variant'], '"')) AS recipe
FROM base.trials AS t
JOIN measurements AS m
    ON m.collection = t.collection AND m.dataset = t.dataset AND m.model = t.model AND m.optimizer = t.optimizer
    AND coalesce(m.batch_size, 0) = t.batch_size AND m.trial_id = t.trial_id
WHERE t.collection = $collection AND m.metric = $metric
ORDER BY t.model, t.optimizer, t.batch_size, t.trial_id, m.step
