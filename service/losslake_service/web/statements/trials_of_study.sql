-- Every trial of a study with its steps to a target and its metaparameters.
SELECT s.trial_id, s.status, s.steps, s.value, t.last_step, t.parameters, t.attributes
FROM steps_to($metric, $target) AS s
JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE s.collection = $collection AND s.dataset = $dataset AND s.model = $model AND s.optimizer = $optimizer
  AND s.batch_size = $batch_size
ORDER BY s.steps NULLS LAST, s.trial_id
