-- The share of trials that reach the target, by batch size and optimizer
SELECT optimizer, batch_size, n_reached / n_trials AS share_of_trials
FROM result_at($metric, $target)
WHERE collection = $collection AND dataset = $dataset AND model = $model
ORDER BY optimizer, batch_size
