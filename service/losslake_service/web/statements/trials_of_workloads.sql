-- One row per trial of some workloads: the steps it takes to the target.
SELECT collection, dataset, model, optimizer, batch_size, trial_id, status, steps, previous_step
FROM steps_to($metric, $target, comparator := $comparator)
WHERE (collection, dataset, model, optimizer) IN $workloads
ORDER BY ALL
