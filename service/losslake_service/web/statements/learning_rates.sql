-- The best value of every trial of a workload against its learning rate, by batch size
SELECT batch_size, trial_id, t.parameters['learning_rate'] AS learning_rate, arg_max(r.value, r.step) AS best_value
FROM records AS r
JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
  AND r.metric = $metric AND t.status = 'COMPLETE'
GROUP BY ALL
ORDER BY batch_size, learning_rate
