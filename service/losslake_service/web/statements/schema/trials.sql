-- The trials of a study with their metaparameters.
SELECT trial_id, status, steps, parameters['learning_rate'] AS learning_rate, parameters
FROM trials
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size
ORDER BY trial_id
