-- One row per flagged trial, which answers leave out, unless flagged = include. rule: too_few_examples, for one that
-- reaches a goal of its workload with less than a quarter of the examples that its neighbours in batch size allow; small_epoch,
-- for one whose log has less than half of the usual examples in an epoch.
CREATE VIEW flags AS
SELECT collection, dataset, model, optimizer, batch_size, trial_id, rule, metric, target, examples, least_examples
FROM base.flags;
