-- What the trials of a study ran on.
SELECT trial_id, hardware, accelerator, accelerators, examples_per_epoch, n_parameters, tokens_per_example, flops_per_token
FROM trial_resources
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size
ORDER BY trial_id
