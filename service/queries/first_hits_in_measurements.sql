-- One row per trial of the workload's studies that has a finite measurement within the budgets: as first_hits_in_records,
-- for a direction that the records were not made for. NaN and infinities are evaluations, but never hits and never best.
WITH evaluation AS (
    SELECT
        list_position($batch_sizes::BIGINT[], batch_size) AS study,
        trial_id,
        step,
        coalesce(lag(step) OVER (PARTITION BY batch_size, trial_id ORDER BY step), -1) AS previous_step,
        value * $sign AS loss
    FROM read_parquet($files, hive_partitioning = true, hive_types = {'batch_size': BIGINT})
    WHERE metric = $metric
),
admissible AS (
    SELECT *
    FROM evaluation
    WHERE isfinite(loss) AND ($step_limits::BIGINT[] IS NULL OR step <= list_extract($step_limits::BIGINT[], study))
)
SELECT
    study - 1 AS study,
    trial_id,
    min(step) FILTER (loss < $target * $sign) AS steps,
    arg_min(loss, step) FILTER (loss < $target * $sign) * $sign AS value,
    arg_min(previous_step, step) FILTER (loss < $target * $sign) AS previous_step,
    min(loss) * $sign AS best_value
FROM admissible
GROUP BY study, trial_id;
