-- By trial, the first record that is strictly better than the target of a goal: what the macro steps_to and the view
-- steps_to_target have below their heads. A line that ends in "only: NAME" is left out of the other one.
--
-- Joined by the keys of the study, through which a condition on them reaches the files.
WITH hit AS (
    SELECT
        r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, g.metric, g.target,
        arg_min(struct_pack(step := r.step, value := r.value, previous_step := r.previous_step), r.step) AS first
    FROM base.records AS r
    JOIN base.metrics AS m ON m.metric = r.metric
    JOIN (SELECT metric AS metric, CAST(target AS DOUBLE) AS target) AS g ON r.metric = metric  -- only: steps_to
    JOIN base.goals AS g ON g.metric = r.metric AND g.collection = r.collection  -- only: steps_to_target
        AND g.dataset = r.dataset AND g.model = r.model AND g.optimizer = r.optimizer  -- only: steps_to_target
    WHERE CASE WHEN m.direction = 'minimize' THEN r.value < g.target ELSE r.value > g.target END
    GROUP BY r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, g.metric, g.target
)
SELECT
    s.collection, s.dataset, s.model, s.optimizer, s.batch_size, t.trial_id, t.status,
    g.metric, g.target, h.first.step AS steps, h.first.value AS value, h.first.previous_step AS previous_step, t.last_step
FROM base.studies AS s
JOIN (SELECT metric AS metric, CAST(target AS DOUBLE) AS target) AS g ON list_contains(s.metrics, metric)  -- only: steps_to
JOIN base.goals AS g ON g.collection = s.collection  -- only: steps_to_target
    AND g.dataset = s.dataset AND g.model = s.model AND g.optimizer = s.optimizer  -- only: steps_to_target
JOIN base.trials AS t
    ON t.collection = s.collection AND t.dataset = s.dataset AND t.model = s.model AND t.optimizer = s.optimizer
    AND t.batch_size = s.batch_size
LEFT JOIN hit AS h
    ON h.collection = s.collection AND h.dataset = s.dataset AND h.model = s.model AND h.optimizer = s.optimizer
    AND h.batch_size = s.batch_size AND h.trial_id = t.trial_id AND h.metric = g.metric AND h.target = g.target
