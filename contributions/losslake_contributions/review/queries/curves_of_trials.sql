-- One row per measurement of the trials $trials, by trial, metric and step.
SELECT t.trial, m.metric, m.step, coalesce(m.value, CAST('NaN' AS DOUBLE)) AS value
FROM measurements AS m
JOIN (
    SELECT *, concat_ws('/', collection, dataset, model, optimizer, coalesce(CAST(batch_size AS VARCHAR), 'scheduled'), trial_id) AS trial FROM trials
) AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE t.trial IN (SELECT unnest($trials))
ORDER BY t.trial, m.metric, m.step
