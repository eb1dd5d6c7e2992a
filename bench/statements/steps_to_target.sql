-- One row per study that measures the metric: the least steps of its trials that ran to their end, in all workloads.
SELECT
    collection, dataset, model, optimizer, batch_size,
    min(steps) AS steps,
    arg_min(trial_id, (steps, trial_id)) FILTER (steps IS NOT NULL) AS trial_id,
    arg_min(value, (steps, trial_id)) FILTER (steps IS NOT NULL) AS value,
    arg_min(previous_step, (steps, trial_id)) FILTER (steps IS NOT NULL) AS previous_step,
    count(*) AS n_trials
FROM steps_to($metric, $target)
WHERE status IN ('COMPLETE', 'MISSED')
GROUP BY ALL;
