-- The status of trials that MISSED in base.trials.
UPDATE base.trials AS t SET status = 'MISSED'
FROM base.missed AS m
WHERE m.collection = t.collection AND m.dataset = t.dataset AND m.model = t.model AND m.optimizer = t.optimizer
    AND m.batch_size = t.batch_size AND m.trial_id = t.trial_id;
