-- One row per study that measures the metric: the least amount, counted as measure says, that a COMPLETE or MISSED trial takes to the target,
-- and that trial, which for 'seconds', 'tokens' and 'flops' isn't always the one with the fewest steps. Ties go to fewer steps, then to the lower
-- trial_id. n_amounts counts the trials that reached the target and whose amount is known. The parameters are those of amounts_to.
CREATE MACRO amount_at(metric, target, measure := 'seconds', direction := NULL, comparator := NULL, workload := NULL, flagged := 'exclude', examples_per_epoch := NULL, accelerators := NULL, tokens_per_example := NULL, n_parameters := NULL, flops_per_token := NULL) AS TABLE
SELECT
    t.collection, t.dataset, t.model, t.optimizer, t.batch_size, t.metric, t.target, t.comparator, t.measure,
    min(t.amount) AS amount,
    arg_min(t.trial_id, (t.amount, t.steps, t.trial_id)) FILTER (t.amount IS NOT NULL) AS trial_id,
    arg_min(t.steps, (t.amount, t.steps, t.trial_id)) FILTER (t.amount IS NOT NULL) AS steps,
    arg_min(struct_pack(name := t.hardware), (t.amount, t.steps, t.trial_id)) FILTER (t.amount IS NOT NULL).name AS hardware,
    count(*) AS n_trials, count(t.steps) AS n_reached, count(t.amount) AS n_amounts
FROM amounts_to(
    metric, target, measure := measure, direction := direction, comparator := comparator, workload := workload, flagged := flagged,
    examples_per_epoch := examples_per_epoch, accelerators := accelerators,
    tokens_per_example := tokens_per_example, n_parameters := n_parameters, flops_per_token := flops_per_token
) AS t
WHERE t.status IN ('COMPLETE', 'MISSED')
GROUP BY t.collection, t.dataset, t.model, t.optimizer, t.batch_size, t.metric, t.target, t.comparator, t.measure
