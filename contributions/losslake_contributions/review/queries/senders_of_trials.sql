-- One row per trial, contributor and role of the stored collection $collection.
SELECT dataset, model, optimizer, batch_size, trial_id, name, contribution
FROM contributors
WHERE collection = $collection
ORDER BY ALL
