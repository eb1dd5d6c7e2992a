-- One row per trial that was read from one of the runs $runs. metrics: that it measures. is_flagged: flags has it.
SELECT
    concat_ws('/', collection, dataset, model, optimizer, coalesce(CAST(batch_size AS VARCHAR), 'scheduled'), trial_id) AS trial, source AS run, status, steps,
    n_evaluations, n_nonfinite, last_step, coalesce(metrics, []) AS metrics, coalesce(parameters, MAP {}) AS parameters,
    coalesce(attributes, MAP {}) AS attributes, flagged.trial_id IS NOT NULL AS is_flagged
FROM trials
LEFT JOIN (
    SELECT collection, dataset, model, optimizer, batch_size, trial_id, list(DISTINCT metric ORDER BY metric) AS metrics
    FROM measurements
    SEMI JOIN (FROM trials WHERE source IN (SELECT unnest($runs)))
        USING (collection, dataset, model, optimizer, batch_size, trial_id)
    GROUP BY ALL
) AS measured USING (collection, dataset, model, optimizer, batch_size, trial_id)
LEFT JOIN (
    SELECT DISTINCT collection, dataset, model, optimizer, batch_size, trial_id FROM flags
) AS flagged USING (collection, dataset, model, optimizer, batch_size, trial_id)
WHERE source IN (SELECT unnest($runs))
ORDER BY collection, dataset, model, optimizer, batch_size, trials.trial_id
