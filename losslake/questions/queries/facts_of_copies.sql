-- One row per trial and other log of the same run: the trial, and the facts as that log states them.
SELECT concat_ws('/', collection, dataset, model, optimizer, coalesce(CAST(nullif(batch_size, 0) AS VARCHAR), 'scheduled'), trial_id) AS trial, parameters, attributes
FROM base.copies;
