-- One row per trial of a study that measures the metric: what it takes to reach the target, in measure := 'steps', 'examples'
-- (steps times batch_size, or the sum over its pieces where that changes), 'epochs', 'tokens' (examples times tokens_per_example),
-- 'flops' of training (tokens times flops_per_token, or else 6 times n_active_parameters, n_parameters or
-- n_parameters_non_embedding, the first that is known, which leaves out attention's operations), 'seconds' since the start of
-- training (the default), or 'accelerator_seconds'. amount is null if the target is never reached, or the amount isn't known. What
-- the logs don't say may be given: examples_per_epoch, without which the trials of a workload have to agree on it, accelerators,
-- tokens_per_example, unless batch sizes count tokens, n_parameters (6 FLOPs each for a token) and flops_per_token. The other
-- parameters and columns are those of steps_to.
CREATE MACRO amounts_to(metric, target, measure := 'seconds', direction := NULL, comparator := NULL, workload := NULL, flagged := 'exclude', examples_per_epoch := NULL, accelerators := NULL, tokens_per_example := NULL, n_parameters := NULL, flops_per_token := NULL) AS TABLE
SELECT
    h.collection, h.dataset, h.model, h.optimizer, h.batch_size, h.trial_id, h.status, h.metric, h.target, h.comparator,
    measure AS measure,
    CASE measure
        WHEN 'steps' THEN CAST(h.steps AS DOUBLE)
        WHEN 'examples' THEN h.processed
        WHEN 'epochs' THEN h.processed / CASE
            WHEN examples_per_epoch IS NOT NULL THEN CAST(examples_per_epoch AS DOUBLE)
            WHEN e.least = e.most THEN e.least
            ELSE error(
                'the logs of ' || concat_ws('/', h.collection, h.dataset, h.model, h.optimizer)
                || ' don''t agree on the examples in an epoch: add examples_per_epoch := N'
            )
        END
        WHEN 'tokens' THEN h.processed * CASE
            WHEN s.batch_unit = 'tokens' THEN 1.0 ELSE CAST(coalesce(tokens_per_example, r.tokens_per_example) AS DOUBLE)
        END
        WHEN 'flops' THEN h.processed * (CASE
            WHEN s.batch_unit = 'tokens' THEN 1.0 ELSE CAST(coalesce(tokens_per_example, r.tokens_per_example) AS DOUBLE)
        END * CASE
            WHEN flops_per_token IS NOT NULL THEN CAST(flops_per_token AS DOUBLE)
            WHEN n_parameters IS NOT NULL THEN 6 * CAST(n_parameters AS DOUBLE)
            ELSE coalesce(
                r.flops_per_token, 6 * r.n_active_parameters, 6 * r.n_parameters, 6 * r.n_parameters_non_embedding
            )
        END)
        WHEN 'seconds' THEN h.elapsed_s
        WHEN 'accelerator_seconds' THEN h.elapsed_s * CAST(coalesce(accelerators, r.accelerators) AS DOUBLE)
        ELSE error(
            'measure ''' || measure || ''' to ' || h.metric
            || ' is none of steps, examples, epochs, tokens, flops, seconds, accelerator_seconds'
        )
    END AS amount,
    h.steps, h.value, h.elapsed_s, r.hardware
FROM (
    SELECT t.*, coalesce(CAST(t.steps AS DOUBLE) * CAST(t.batch_size AS DOUBLE), CAST(t.examples AS DOUBLE)) AS processed
    FROM steps_to(metric, target, direction := direction, comparator := comparator, workload := workload, flagged := flagged) AS t
) AS h
JOIN trial_resources AS r
    ON r.collection = h.collection AND r.dataset = h.dataset AND r.model = h.model AND r.optimizer = h.optimizer
    AND r.batch_size IS NOT DISTINCT FROM h.batch_size AND r.trial_id = h.trial_id
JOIN base.studies AS s
    ON s.collection = h.collection AND s.dataset = h.dataset AND s.model = h.model AND s.optimizer = h.optimizer
    AND s.batch_size = coalesce(h.batch_size, 0)
JOIN (
    SELECT
        k.collection, k.dataset, k.model, k.optimizer, min(k.examples_per_epoch) AS least, max(k.examples_per_epoch) AS most
    FROM trial_resources AS k GROUP BY k.collection, k.dataset, k.model, k.optimizer
) AS e
    ON e.collection = h.collection AND e.dataset = h.dataset AND e.model = h.model AND e.optimizer = h.optimizer
