-- One row per study and goal: the trial with the fewest steps to the target. This is the body of the macro result_at and the
-- view steps_to_result. A line that ends in "only: NAME" belongs to that one alone.
-- The value isn't by arg_min, which returns -0.0 as 0.0 in DuckDB if it compares more than one number.
SELECT
    t.collection, t.dataset, t.model, t.optimizer, t.batch_size, t.metric, t.target, t.comparator,
    min(t.steps) AS steps,
    arg_min(t.trial_id, (t.steps, t.trial_id)) FILTER (t.steps IS NOT NULL) AS trial_id,
    first(t.value ORDER BY t.steps, t.trial_id) FILTER (t.steps IS NOT NULL) AS value,
    arg_min(struct_pack(examples := t.examples), (t.steps, t.trial_id)) FILTER (t.steps IS NOT NULL).examples AS examples,
    arg_min(struct_pack(step := t.previous_step), (t.steps, t.trial_id)) FILTER (t.steps IS NOT NULL).step AS previous_step,
    count(*) FILTER (t.status IN ('COMPLETE', 'MISSED')) AS n_trials,
    count(t.steps) AS n_reached
FROM steps_to(metric, target, direction := direction, comparator := comparator, flagged := flagged) AS t WHERE t.status IN ('COMPLETE', 'MISSED')  -- only: result_at
FROM (SELECT * REPLACE (CASE WHEN status IN ('COMPLETE', 'MISSED') THEN steps END AS steps) FROM steps_to_target) AS t  -- only: steps_to_result
GROUP BY t.collection, t.dataset, t.model, t.optimizer, t.batch_size, t.metric, t.target, t.comparator
