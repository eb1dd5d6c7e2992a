-- One row per trial that was read from one of the runs $runs. metrics: that it measures. is_flagged: flags has it.
-- A batch size that changes is null.
SELECT
    concat_ws('/', t.collection, t.dataset, t.model, t.optimizer, coalesce(CAST(t.batch_size AS VARCHAR), 'scheduled'), t.trial_id) AS trial,
    source AS run, status, steps,
    n_evaluations, n_nonfinite, last_step, coalesce(metrics, []) AS metrics, coalesce(parameters, MAP {}) AS parameters,
    coalesce(attributes, MAP {}) AS attributes, flagged.trial_id IS NOT NULL AS is_flagged
FROM trials AS t
LEFT JOIN (
    SELECT collection, dataset, model, optimizer, batch_size, trial_id, list(DISTINCT metric ORDER BY metric) AS metrics
    FROM measurements AS m
    SEMI JOIN (FROM trials WHERE source IN (SELECT unnest($runs))) AS r
        ON m.collection = r.collection AND m.dataset = r.dataset AND m.model = r.model AND m.optimizer = r.optimizer
        AND m.batch_size IS NOT DISTINCT FROM r.batch_size AND m.trial_id = r.trial_id
    GROUP BY ALL
) AS measured
    ON measured.collection = t.collection AND measured.dataset = t.dataset AND measured.model = t.model AND measured.optimizer = t.optimizer
    AND measured.batch_size IS NOT DISTINCT FROM t.batch_size AND measured.trial_id = t.trial_id
LEFT JOIN (
    SELECT DISTINCT collection, dataset, model, optimizer, batch_size, trial_id FROM flags
) AS flagged
    ON flagged.collection = t.collection AND flagged.dataset = t.dataset AND flagged.model = t.model AND flagged.optimizer = t.optimizer
    AND flagged.batch_size IS NOT DISTINCT FROM t.batch_size AND flagged.trial_id = t.trial_id
WHERE source IN (SELECT unnest($runs))
ORDER BY t.collection, t.dataset, t.model, t.optimizer, t.batch_size, t.trial_id
