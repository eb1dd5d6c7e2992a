-- One row per target and batch size. What is first to a target is better than everything before, by step and trial: of
-- these records, the first to a target is the one that is closest behind it.
WITH records AS (
    SELECT batch_size, step, trial_id, $sign * value AS loss
    FROM measurements($files)
    SEMI JOIN (FROM complete WHERE workload = $workload) USING (batch_size, trial_id)
    WHERE metric = $metric AND NOT isnan(value)
    QUALIFY loss < coalesce(min(loss) OVER (
        PARTITION BY batch_size ORDER BY step, trial_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), DOUBLE 'infinity')
),
asked AS (
    SELECT target, batch_size
    FROM (SELECT unnest($targets) AS target), (SELECT DISTINCT batch_size FROM records)
)
SELECT target, asked.batch_size, step, trial_id, $sign * loss AS value
FROM asked
ASOF JOIN records ON asked.batch_size = records.batch_size AND $sign * target > loss;
