-- The records of a trial: how its best value so far fell or rose.
SELECT step, previous_step, value
FROM records
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size AND metric = $metric AND trial_id = $trial_id
ORDER BY step
