-- The schedules of the learning rates of a study's trials.
SELECT trial_id, schedule, warmup_end, decay_start, schedule_end, is_finished, schedule_source
FROM trial_schedules
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND batch_size = $batch_size
ORDER BY trial_id
