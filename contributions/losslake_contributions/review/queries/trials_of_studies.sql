-- One row per study: its name and the number of its trials.
SELECT concat_ws('/', collection, dataset, model, optimizer, coalesce(CAST(batch_size AS VARCHAR), 'scheduled')) AS study, n_trials
FROM studies
