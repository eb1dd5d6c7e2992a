-- Every measurement of a trial.
SELECT metric, step, value, elapsed_s
FROM measurements
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size AND trial_id = $trial_id
ORDER BY metric, step
