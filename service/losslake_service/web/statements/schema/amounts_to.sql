-- The seconds that each trial of a study takes to reach a target of your choice.
SELECT trial_id, status, amount AS seconds, steps, hardware
FROM amounts_to($metric, $target, measure := 'seconds')
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size
ORDER BY seconds, trial_id
