-- One row per batch size: the best value up to a step; of several the one with the least step, then the lowest trial.
WITH bests AS (
    SELECT batch_size, trial_id, min($sign * value) AS loss, arg_min(step, ($sign * value, step)) AS step
    FROM measurements($files)
    SEMI JOIN (FROM complete WHERE workload = $workload) USING (batch_size, trial_id)
    WHERE metric = $metric AND step <= $step_budget AND NOT isnan(value)
    GROUP BY ALL
)
SELECT batch_size, trial_id, step, $sign * loss AS value
FROM bests
QUALIFY row_number() OVER (PARTITION BY batch_size ORDER BY loss, step, trial_id) = 1;
