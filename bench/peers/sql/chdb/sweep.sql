-- One row per target and batch size. What is first to a target is better than everything before, by step and trial: of
-- these records, the first to a target is the one that is closest behind it.
WITH evaluations AS (
    SELECT
        batch_size, step, trial_id, {sign:Int8} * value AS loss,
        min(loss) OVER before AS least, count() OVER before AS n_before
    FROM peers.measurements(files = {files:String})
    WHERE metric = {metric:String} AND NOT isNaN(value)
        AND (batch_size, trial_id) IN (SELECT batch_size, trial_id FROM peers.complete WHERE workload = {workload:String})
    WINDOW before AS (
        PARTITION BY batch_size ORDER BY step, trial_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
records AS (SELECT batch_size, step, trial_id, loss FROM evaluations WHERE n_before = 0 OR loss < least),
asked AS (
    SELECT batch_size, target, {sign:Int8} * target AS bound
    FROM (SELECT DISTINCT batch_size FROM records)
    ARRAY JOIN {targets:Array(Float64)} AS target
)
SELECT target, asked.batch_size AS batch_size, step, trial_id, {sign:Int8} * loss AS value
FROM asked
ASOF JOIN records ON asked.batch_size = records.batch_size AND asked.bound > records.loss
