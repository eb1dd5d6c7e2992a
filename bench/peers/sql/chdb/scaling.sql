-- One row per batch size: the first complete trial to the target, of several the one with the lowest number.
SELECT batch_size, tupleElement(first, 1) AS step, tupleElement(first, 2) AS trial_id, tupleElement(first, 3) AS value
FROM (
    SELECT batch_size, min((step, trial_id, value)) AS first
    FROM peers.measurements(files = {files:String})
    WHERE metric = {metric:String}
        AND {sign:Int8} * value < {sign:Int8} * {target:Float64}
        AND (batch_size, trial_id) IN (SELECT batch_size, trial_id FROM peers.complete WHERE workload = {workload:String})
    GROUP BY batch_size
)
