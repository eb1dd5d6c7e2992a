-- Every trial of a study with its steps to a target and its metaparameters.
SELECT s.trial_id, s.status, s.steps, s.value, t.last_step, t.parameters, t.attributes
FROM steps_to($metric, $target) AS s
JOIN trials AS t
  ON t.collection = s.collection AND t.dataset = s.dataset AND t.model = s.model AND t.optimizer = s.optimizer
  AND t.batch_size IS NOT DISTINCT FROM s.batch_size AND t.trial_id = s.trial_id
WHERE s.collection = $collection AND s.dataset = $dataset AND s.model = $model AND s.optimizer = $optimizer
  AND s.batch_size = $batch_size
ORDER BY s.steps NULLS LAST, s.trial_id
