-- When each trial of a study reaches a target of your choice.
SELECT trial_id, status, steps, last_step
FROM steps_to($metric, $target)
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size
ORDER BY steps, trial_id
