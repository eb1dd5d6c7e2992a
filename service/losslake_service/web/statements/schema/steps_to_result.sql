-- The scaling curve of a workload for its own goals.
SELECT metric, target, batch_size, steps, n_reached, n_trials
FROM steps_to_result
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
ORDER BY metric, batch_size
