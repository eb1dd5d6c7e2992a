-- One row per batch size: the best value up to a step; of several the one with the least step, then the lowest trial.
SELECT
    batch_size, tupleElement(best, 2) AS step, tupleElement(best, 3) AS trial_id,
    {sign:Int8} * tupleElement(best, 1) AS value
FROM (
    SELECT batch_size, min(({sign:Int8} * value, step, trial_id)) AS best
    FROM peers.measurements(files = {files:String})
    WHERE metric = {metric:String} AND step <= {step_budget:Int64} AND NOT isNaN(value)
        AND (batch_size, trial_id) IN (SELECT batch_size, trial_id FROM peers.complete WHERE workload = {workload:String})
    GROUP BY batch_size
)
