-- One row per trial whose curve is that of an earlier trial of its study, but which isn't a copy of it: its mapping keeps repeats, or its
-- metaparameters differ. same_as is the first such trial. Curves are equal if they have the same records (each value better than all before it, of each metric with a known
-- direction, at its step), of some metric at least four, and as many evaluations up to the same last step.
CREATE TABLE base.equal_curves AS
WITH record AS (
    SELECT collection, dataset, model, optimizer, batch_size, trial_id, count(*) AS n, bit_xor(hash(metric, step, value)) AS digest
    FROM changed_records
    GROUP BY collection, dataset, model, optimizer, batch_size, trial_id, metric
),
curve AS (
    SELECT collection, dataset, model, optimizer, batch_size, trial_id, sum(n) AS n, bit_xor(digest) AS digest
    FROM record
    GROUP BY collection, dataset, model, optimizer, batch_size, trial_id
    HAVING max(n) >= 4
),
first AS (
    SELECT
        collection, dataset, model, optimizer, batch_size, trial_id,
        min(trial_id) OVER (
            PARTITION BY collection, dataset, model, optimizer, batch_size, n, digest, n_evaluations, last_step
        ) AS same_as
    FROM curve
    JOIN base.trials USING (collection, dataset, model, optimizer, batch_size, trial_id)
)
SELECT collection, dataset, model, optimizer, batch_size, trial_id, same_as
FROM first
WHERE same_as < trial_id
ORDER BY ALL;
