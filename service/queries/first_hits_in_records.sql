-- One row per trial of the workload's studies that has a record within the budgets: its first hit (steps, value and
-- previous_step are null if it has none), and its best value. `study` counts the workload's studies from 0.
--
-- A trial's records get strictly better step by step, so of all its hits the first has the least step, the worst value
-- and the least previous step; a previous step of -1 stands for none. Values are multiplied by $sign (1 to minimize, -1
-- to maximize), which is exact, so that less is better. The ranges of both ids let zone maps prune.
SELECT
    study_id - $first_study AS study,
    trial_id,
    min(CASE WHEN value * $sign < $target * $sign THEN step END) AS steps,
    max(CASE WHEN value * $sign < $target * $sign THEN value * $sign END) * $sign AS value,
    min(CASE WHEN value * $sign < $target * $sign THEN coalesce(previous_step, -1) END) AS previous_step,
    min(value * $sign) * $sign AS best_value
FROM base.records
WHERE metric_id = $metric_id
  AND study_id BETWEEN $first_study AND $last_study
  AND ($step_limits::BIGINT[] IS NULL OR step <= list_extract($step_limits::BIGINT[], study_id - $first_study + 1))
GROUP BY study_id, trial_id;
