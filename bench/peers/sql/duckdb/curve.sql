-- One row per evaluation of a metric in a trial.
SELECT step, value
FROM measurements($files)
WHERE metric = $metric AND trial_id = $trial_id;
