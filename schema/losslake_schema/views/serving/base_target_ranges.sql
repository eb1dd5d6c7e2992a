-- One row per study and metric that it measures, and range of targets with the same result, from the registered `target_ranges`:
-- the first of the COMPLETE and MISSED trials, without flagged ones, to reach them, and how many do. reaching: a value that reaches all
-- targets of the range; null for those that no trial reaches. short: the next worse value of the study, which reaches none of
-- them; null if there is none. Where the direction is unknown, there is one row without values.
CREATE TABLE base.target_ranges AS
SELECT f.frontier, r.reaching, r.short, r.steps, r.trial_id, r.value, r.previous_step, coalesce(r.n_reached, 0) AS n_reached
FROM base.frontiers AS f
ANTI JOIN unchanged USING (collection, dataset, model, optimizer)
LEFT JOIN target_ranges AS r USING (study_id, metric)
ORDER BY f.frontier;
