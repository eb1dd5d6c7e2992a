-- One row per flagged trial and reason. Answers leave those of the first two rules out, unless flagged = include. rule:
-- too_few_examples, for one that reaches a goal of its workload with less than a quarter of the examples that its neighbours in
-- batch size allow; small_epoch, for one whose log has less than half of the usual examples in an epoch; equal_curve, for one with
-- the curve of another trial of its study, same_as, that isn't another log of its run. That one counts: runs with one seed repeat.
CREATE VIEW flags AS
SELECT collection, dataset, model, optimizer, nullif(batch_size, 0) AS batch_size, trial_id, rule, metric, target, examples, least_examples,
    CAST(NULL AS BIGINT) AS same_as
FROM base.flags
UNION ALL
SELECT collection, dataset, model, optimizer, nullif(batch_size, 0), trial_id, 'equal_curve', NULL, NULL, NULL, NULL, same_as
FROM base.equal_curves;
