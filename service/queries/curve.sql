-- One row per evaluation of one metric, by trial and step, of the trials in a range of trial_id.
SELECT trial_id, step, value, elapsed_s
FROM read_parquet($files, hive_partitioning = false)
WHERE metric = $metric AND trial_id BETWEEN $first_trial AND $last_trial
ORDER BY trial_id, step;
