-- One row per workload and batch size: the fewest steps of any trial to the target.
SELECT collection, dataset, model, optimizer, batch_size, steps, trial_id, previous_step, n_trials, n_reached
FROM result_at($metric, $target, comparator := $comparator)
WHERE (collection, dataset, model, optimizer) IN $workloads
ORDER BY ALL
