-- One row per study: its name and the number of its trials.
SELECT concat_ws('/', collection, dataset, model, optimizer, batch_size) AS study, n_trials
FROM studies
