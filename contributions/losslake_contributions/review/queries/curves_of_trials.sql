-- One row per measurement of the trials $trials, by trial, metric and step. A batch size that changes is null.
SELECT t.trial, m.metric, m.step, coalesce(m.value, CAST('NaN' AS DOUBLE)) AS value
FROM measurements AS m
JOIN (
    SELECT *, concat_ws('/', collection, dataset, model, optimizer, coalesce(CAST(batch_size AS VARCHAR), 'scheduled'), trial_id) AS trial FROM trials
) AS t
    ON m.collection = t.collection AND m.dataset = t.dataset AND m.model = t.model AND m.optimizer = t.optimizer
    AND m.batch_size IS NOT DISTINCT FROM t.batch_size AND m.trial_id = t.trial_id
WHERE t.trial IN (SELECT unnest($trials))
ORDER BY t.trial, m.metric, m.step
