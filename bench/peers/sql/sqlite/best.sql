-- One row per batch size: the best value up to a step; of several the one with the least step, then the lowest trial.
WITH ranked AS (
    SELECT
        batch_size, step, trial_id, value,
        row_number() OVER (PARTITION BY study_id ORDER BY :sign * value, step, trial_id) AS place
    FROM studies
    JOIN complete USING (study_id)
    JOIN measurements USING (study_id, trial_id)
    JOIN metrics USING (metric_id)
    WHERE workload = :workload AND metric = :metric AND step <= :step_budget AND value IS NOT NULL
)
SELECT batch_size, step, trial_id, value FROM ranked WHERE place = 1;
