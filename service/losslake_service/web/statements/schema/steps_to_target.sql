-- The trials of a workload that reached its goals, the quickest of each batch size first.
SELECT batch_size, metric, target, trial_id, steps
FROM steps_to_target
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND steps IS NOT NULL
ORDER BY metric, batch_size, steps, trial_id
