-- One row per trial of these recipes of modded-nanogpt: its last validation, and its batch size, or the pieces of one that changes.
SELECT
    trim(BOTH '"' FROM t.attributes['recipe']) AS recipe, t.batch_size, t.attributes['batch_schedule'] AS pieces,
    max(m.step) AS step, arg_max(m.value, m.step) AS loss, arg_max(m.elapsed_s, m.step) AS seconds
FROM trials AS t
JOIN measurements AS m
    ON m.collection = t.collection AND m.dataset = t.dataset AND m.model = t.model AND m.optimizer = t.optimizer
    AND m.batch_size IS NOT DISTINCT FROM t.batch_size AND m.trial_id = t.trial_id
WHERE t.collection = 'modded-nanogpt' AND m.metric = 'val/cross_entropy_error' AND t.status = 'COMPLETE'
    AND list_contains($recipes, trim(BOTH '"' FROM t.attributes['recipe']))
GROUP BY recipe, t.batch_size, pieces, t.model, t.optimizer, t.trial_id
ORDER BY ALL
