-- The curves of the five trials of a study that reach the target first
WITH best AS (
    SELECT collection, dataset, model, optimizer, batch_size, trial_id
    FROM steps_to($metric, $target)
    WHERE collection = $collection AND dataset = $dataset AND model = $model AND optimizer = $optimizer
      AND batch_size = $batch_size
      AND steps IS NOT NULL
    ORDER BY steps, trial_id
    LIMIT 5
)
SELECT trial_id, step, value
FROM measurements
SEMI JOIN best USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE metric = $metric
ORDER BY trial_id, step
