-- The least time to a target by batch size, and the trial that takes it.
SELECT batch_size, amount AS seconds, trial_id, steps, hardware, n_amounts, n_reached
FROM amount_at($metric, $target, measure := 'seconds')
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
ORDER BY batch_size
