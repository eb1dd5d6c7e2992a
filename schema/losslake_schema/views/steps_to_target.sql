-- One row per goal and trial of its workload: the steps to target, null when the trial never reached it.
--
-- Joined by the keys of the study, through which a condition on them reaches the files.
CREATE VIEW steps_to_target AS
WITH hit AS (
    SELECT
        r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, g.metric, g.target,
        arg_min(struct_pack(step := r.step, value := r.value, previous_step := r.previous_step), r.step) AS first
    FROM base.records AS r
    JOIN base.metrics AS m ON m.metric = r.metric
    JOIN base.goals AS g
        ON g.collection = r.collection AND g.dataset = r.dataset AND g.model = r.model AND g.optimizer = r.optimizer
        AND g.metric = r.metric
    WHERE CASE WHEN m.direction = 'minimize' THEN r.value < g.target ELSE r.value > g.target END
    GROUP BY r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, g.metric, g.target
)
SELECT
    s.collection, s.dataset, s.model, s.optimizer, s.batch_size, t.trial_id, t.status,
    g.metric, g.target, h.first.step AS steps, h.first.value AS value, h.first.previous_step AS previous_step, t.last_step
FROM base.goals AS g
JOIN base.studies AS s
    ON s.collection = g.collection AND s.dataset = g.dataset AND s.model = g.model AND s.optimizer = g.optimizer
JOIN base.trials AS t
    ON t.collection = s.collection AND t.dataset = s.dataset AND t.model = s.model AND t.optimizer = s.optimizer
    AND t.batch_size = s.batch_size
LEFT JOIN hit AS h
    ON h.collection = s.collection AND h.dataset = s.dataset AND h.model = s.model AND h.optimizer = s.optimizer
    AND h.batch_size = s.batch_size AND h.trial_id = t.trial_id AND h.metric = g.metric AND h.target = g.target;
