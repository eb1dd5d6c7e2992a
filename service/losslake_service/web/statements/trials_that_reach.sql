-- Trials of one batch size that reach the target, with their metaparameters
SELECT s.trial_id, s.steps, t.parameters['learning_rate'] AS learning_rate, t.parameters,
       s.collection, s.dataset, s.model, s.optimizer, s.batch_size
FROM steps_to($metric, $target) AS s
JOIN trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE s.collection = $collection AND s.dataset = $dataset AND s.model = $model AND s.optimizer = $optimizer
  AND s.batch_size = $batch_size
  AND s.steps IS NOT NULL
ORDER BY s.steps
