-- Every record of the complete trials of a workload: the steps to any target, and the best value within any budget, follow from them.
SELECT r.batch_size, r.trial_id, r.step, r.previous_step, r.value
FROM records AS r
JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE r.metric = $metric AND t.status = 'COMPLETE'
  AND r.collection = $collection AND r.dataset = $dataset AND r.model = $model AND r.optimizer = $optimizer
ORDER BY r.batch_size, r.step, r.trial_id
