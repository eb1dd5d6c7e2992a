-- One row per batch size of a workload: the fewest steps of any trial to the target.
SELECT batch_size, steps, trial_id, previous_step, n_trials, n_reached
FROM result_at($metric, $target)
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
ORDER BY batch_size
