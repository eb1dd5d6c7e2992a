-- One row per study that measures the metric: the least steps to the target over its COMPLETE trials, ties to the lower
-- trial_id. A study in which no such trial reached the target stays in, with null steps.
-- `examples` is null where it exceeds 64 bits.
CREATE MACRO result_at(metric, target) AS TABLE
$best_trials
