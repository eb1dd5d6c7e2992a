-- One row per record of a metric in a workload, for a direction that the stored records were not made for: a finite value
-- strictly better than every earlier one of its trial. `study` counts the workload's studies from 0; a previous step of
-- -1 stands for none. Values are multiplied by $sign (1 to minimize, -1 to maximize), which is exact, so that less is better.
WITH evaluation AS (
    SELECT
        list_position($batch_sizes::BIGINT[], batch_size) - 1 AS study,
        trial_id,
        step,
        coalesce(lag(step) OVER trial, -1) AS previous_step,
        value,
        min(value * $sign) FILTER (isfinite(value)) OVER (trial ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_before
    FROM (
        SELECT coalesce(batch_size, 0) AS batch_size, trial_id, step, value
        FROM read_parquet($files, hive_partitioning = true, hive_types = {'batch_size': BIGINT})
        WHERE metric = $metric
    )
    WINDOW trial AS (PARTITION BY batch_size, trial_id ORDER BY step)
)
SELECT study, trial_id, step, previous_step, value
FROM evaluation
WHERE isfinite(value) AND (best_before IS NULL OR value * $sign < best_before)
ORDER BY study, trial_id, step;
