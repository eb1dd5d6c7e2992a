-- One row per study and metric that it measures, and range of targets with the same result, from the registered `target_ranges`:
-- the first of the COMPLETE and MISSED trials, without flagged ones, to reach them, and how many do. reaching: a value that reaches all
-- targets of the range; null for those that no trial reaches. short: the next worse value of the study, which reaches none of
-- them; null if there is none. Where the direction is unknown, there is one row without values. scheduled_examples: up to `steps`, for a batch size that
-- changes.
CREATE TABLE base.target_ranges AS
SELECT f.frontier, r.reaching, r.short, r.steps, r.trial_id, r.value, r.previous_step, coalesce(r.n_reached, 0) AS n_reached,
    CASE WHEN f.batch_size = 0 THEN $examples(f.batch_size, t.attributes, r.steps) END AS scheduled_examples
FROM base.frontiers AS f
ANTI JOIN unchanged USING (collection, dataset, model, optimizer)
LEFT JOIN target_ranges AS r USING (study_id, metric)
LEFT JOIN (SELECT study_id, trial_id, attributes FROM base.trials WHERE batch_size = 0) AS t
    ON t.study_id = f.study_id AND t.trial_id = r.trial_id
ORDER BY f.frontier;
