-- The scaling curve of a workload for a target of your choice.
SELECT batch_size, steps, n_reached, n_trials
FROM result_at($metric, $target)
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
ORDER BY batch_size
