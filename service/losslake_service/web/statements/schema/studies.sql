-- The studies of a workload, with how many of their trials diverged.
SELECT batch_size, n_trials, n_infeasible, metrics
FROM studies
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
ORDER BY batch_size
