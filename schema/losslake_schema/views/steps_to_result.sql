-- One row per goal and study: the least steps to target over its COMPLETE trials, ties to the lower trial_id; null steps
-- when none reached it. `examples` is null where it exceeds 64 bits.
CREATE VIEW steps_to_result AS
SELECT
    collection, dataset, model, optimizer, batch_size, metric, target,
    min(steps) AS steps,
    arg_min(trial_id, (steps, trial_id)) FILTER (steps IS NOT NULL) AS trial_id,
    arg_min(value, (steps, trial_id)) FILTER (steps IS NOT NULL) AS value,
    CASE WHEN min(steps) <= 9223372036854775807 // batch_size THEN min(steps) * batch_size END AS examples,
    arg_min(struct_pack(step := previous_step), (steps, trial_id)) FILTER (steps IS NOT NULL).step AS previous_step,
    count(*) FILTER (status = 'COMPLETE') AS n_trials,
    count(steps) AS n_reached
FROM (SELECT * REPLACE (CASE WHEN status = 'COMPLETE' THEN steps END AS steps) FROM steps_to_target)
GROUP BY collection, dataset, model, optimizer, batch_size, metric, target;
