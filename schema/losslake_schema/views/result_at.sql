-- One row per study that measures the metric: the least steps to the target over its COMPLETE trials, ties to the lower
-- trial_id. A study in which no such trial reached the target stays in, with null steps.
-- `examples` is null where it exceeds 64 bits.
CREATE MACRO result_at(metric, target) AS TABLE
SELECT
    collection, dataset, model, optimizer, batch_size, metric AS metric, CAST(target AS DOUBLE) AS target,
    min(steps) AS steps,
    arg_min(trial_id, (steps, trial_id)) FILTER (steps IS NOT NULL) AS trial_id,
    arg_min(value, (steps, trial_id)) FILTER (steps IS NOT NULL) AS value,
    CASE WHEN min(steps) <= 9223372036854775807 // batch_size THEN min(steps) * batch_size END AS examples,
    arg_min(struct_pack(step := previous_step), (steps, trial_id)) FILTER (steps IS NOT NULL).step AS previous_step,
    count(*) AS n_trials,
    count(steps) AS n_reached
FROM steps_to(metric, target)
WHERE status = 'COMPLETE'
GROUP BY collection, dataset, model, optimizer, batch_size;
