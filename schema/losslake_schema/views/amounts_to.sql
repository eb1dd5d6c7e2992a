-- One row per trial of a study that measures the metric: what it takes to reach the target, in measure := 'steps', 'examples' (steps
-- times batch_size, or the sum over its pieces where that changes), 'epochs', 'seconds' since the start of training (the default), or 'accelerator_seconds'. amount is null if
-- the target is never reached, or the time isn't known. What the logs don't say may be given: examples_per_epoch, without which
-- the trials of a workload have to agree on it, and accelerators. The other parameters and columns are those of steps_to.
CREATE MACRO amounts_to(metric, target, measure := 'seconds', direction := NULL, comparator := NULL, workload := NULL, flagged := 'exclude', examples_per_epoch := NULL, accelerators := NULL) AS TABLE
SELECT
    h.collection, h.dataset, h.model, h.optimizer, h.batch_size, h.trial_id, h.status, h.metric, h.target, h.comparator,
    measure AS measure,
    CASE measure
        WHEN 'steps' THEN CAST(h.steps AS DOUBLE)
        WHEN 'examples' THEN coalesce(CAST(h.steps AS DOUBLE) * CAST(h.batch_size AS DOUBLE), CAST(h.examples AS DOUBLE))
        WHEN 'epochs' THEN if(h.batch_size IS NULL, CAST(h.examples AS DOUBLE), CAST(h.steps AS DOUBLE)) * (if(h.batch_size IS NULL, 1.0, CAST(h.batch_size AS DOUBLE)) / CASE
            WHEN examples_per_epoch IS NOT NULL THEN CAST(examples_per_epoch AS DOUBLE)
            WHEN e.least = e.most THEN e.least
            ELSE error(
                'the logs of ' || concat_ws('/', h.collection, h.dataset, h.model, h.optimizer)
                || ' don''t agree on the examples in an epoch: add examples_per_epoch := N'
            )
        END)
        WHEN 'seconds' THEN h.elapsed_s
        WHEN 'accelerator_seconds' THEN h.elapsed_s * CAST(coalesce(accelerators, r.accelerators) AS DOUBLE)
        ELSE error(
            'measure ''' || measure || ''' to ' || h.metric || ' is none of steps, examples, epochs, seconds, accelerator_seconds'
        )
    END AS amount,
    h.steps, h.value, h.elapsed_s, r.hardware
FROM steps_to(metric, target, direction := direction, comparator := comparator, workload := workload, flagged := flagged) AS h
JOIN trial_resources AS r
    ON r.collection = h.collection AND r.dataset = h.dataset AND r.model = h.model AND r.optimizer = h.optimizer
    AND r.batch_size IS NOT DISTINCT FROM h.batch_size AND r.trial_id = h.trial_id
JOIN (
    SELECT
        k.collection, k.dataset, k.model, k.optimizer, min(k.examples_per_epoch) AS least, max(k.examples_per_epoch) AS most
    FROM trial_resources AS k GROUP BY k.collection, k.dataset, k.model, k.optimizer
) AS e
    ON e.collection = h.collection AND e.dataset = h.dataset AND e.model = h.model AND e.optimizer = h.optimizer
