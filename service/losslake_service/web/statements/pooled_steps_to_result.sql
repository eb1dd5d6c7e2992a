-- One row per batch size of the workloads that a pattern matches: the fewest steps of any trial to the target.
SELECT batch_size, steps, trial_workload, trial_id, previous_step, n_trials, n_reached
FROM pooled_result_at($metric, $target, workload := $workload)
ORDER BY batch_size
