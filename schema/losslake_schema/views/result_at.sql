-- One row per study that measures the metric: the fewest steps to the target over its COMPLETE and MISSED trials; a tie goes to the lower
-- trial_id. If no such trial reached the target, steps is null. examples is null if it exceeds 64 bits.
-- direction := 'minimize' or 'maximize' is needed where the metric's own is unknown, and otherwise replaces it.
-- comparator := 'strict' or 'inclusive' replaces that of the workload's goals in the metric; without any it is strict.
-- flagged := 'include', together with direction (NULL for the metric's own), includes the trials of flags.
CREATE MACRO result_at(metric, target, direction := NULL, comparator := NULL, flagged := 'exclude') AS TABLE
$best_trials
