-- Steps to the target by batch size, for each optimizer of one model
SELECT optimizer, batch_size, steps, trial_id, n_reached, n_trials, collection, dataset, model
FROM result_at($metric, $target)
WHERE collection = $collection AND dataset = $dataset AND model = $model
  AND steps IS NOT NULL
ORDER BY optimizer, batch_size
