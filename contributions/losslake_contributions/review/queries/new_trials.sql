-- One row per trial that was read from one of the runs $runs.
SELECT *
FROM trials
WHERE source IN (SELECT unnest($runs))
ORDER BY collection, dataset, model, optimizer, batch_size, trial_id
