-- Every evaluation of a metric in a study.
SELECT trial_id, step, value, elapsed_s
FROM measurements
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size AND metric = $metric
ORDER BY trial_id, step
