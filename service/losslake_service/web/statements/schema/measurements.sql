-- The curve of a trial.
SELECT step, value
FROM measurements
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size AND metric = $metric AND trial_id = $trial_id
ORDER BY step
