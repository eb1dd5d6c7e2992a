-- One row per evaluation of a metric in a trial.
SELECT step, value
FROM peers.measurements(files = {files:String})
WHERE metric = {metric:String} AND trial_id = {trial_id:Int64}
