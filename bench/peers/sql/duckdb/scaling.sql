-- One row per batch size: the first complete trial to the target, of several the one with the lowest number.
WITH hits AS (
    SELECT batch_size, trial_id, min(step) AS step, arg_min(value, step) AS value
    FROM measurements($files)
    SEMI JOIN (FROM complete WHERE workload = $workload) USING (batch_size, trial_id)
    WHERE metric = $metric AND $sign * value < $sign * $target
    GROUP BY ALL
)
FROM hits
QUALIFY row_number() OVER (PARTITION BY batch_size ORDER BY step, trial_id) = 1;
