-- One row per stored trial that measures $metric: its steps and values, by step.
SELECT
    collection, dataset, model, optimizer, batch_size, trial_id,
    list(step ORDER BY step) AS steps, list(value ORDER BY step) AS "values"
FROM measurements
WHERE metric = $metric
GROUP BY ALL
ORDER BY collection, dataset, model, optimizer, batch_size, trial_id
