-- Every measurement of a metric in some trials.
SELECT collection, dataset, model, optimizer, batch_size, trial_id, step, value, elapsed_s
FROM measurements
WHERE metric = $metric
  AND (collection, dataset, model, optimizer, batch_size, trial_id) IN $trials
ORDER BY ALL
