-- One row per flagged trial.
SELECT DISTINCT collection, dataset, model, optimizer, batch_size, trial_id
FROM flags
