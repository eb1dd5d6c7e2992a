-- The number of trials of each workload, and what its batch sizes count.
SELECT w.collection, w.dataset, w.model, w.optimizer, w.n_trials, s.unit
FROM workloads AS w
JOIN (
    SELECT collection, dataset, model, optimizer, min(coalesce(batch_unit, 'something unknown')) AS unit FROM base.studies GROUP BY ALL
) AS s USING (collection, dataset, model, optimizer)
