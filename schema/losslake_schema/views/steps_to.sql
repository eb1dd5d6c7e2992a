-- One row per trial of a study that measures the metric: its steps to the target, in the metric's own direction.
-- Reached means strictly better; NaN and infinities never are. Never reached: steps, value and previous_step are null.
--
-- Joined by the keys of the study, through which a condition on them reaches the files.
CREATE MACRO steps_to(metric, target) AS TABLE
WITH hit AS (
    SELECT
        r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id,
        arg_min(struct_pack(step := r.step, value := r.value, previous_step := r.previous_step), r.step) AS first
    FROM base.records AS r
    JOIN base.metrics AS m ON m.metric = r.metric
    WHERE r.metric = metric
      AND CASE WHEN m.direction = 'minimize' THEN r.value < target ELSE r.value > target END
    GROUP BY r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id
)
SELECT
    s.collection, s.dataset, s.model, s.optimizer, s.batch_size, t.trial_id, t.status,
    metric AS metric, CAST(target AS DOUBLE) AS target,
    h.first.step AS steps, h.first.value AS value, h.first.previous_step AS previous_step, t.last_step
FROM base.studies AS s
JOIN base.trials AS t
    ON t.collection = s.collection AND t.dataset = s.dataset AND t.model = s.model AND t.optimizer = s.optimizer
    AND t.batch_size = s.batch_size
LEFT JOIN hit AS h
    ON h.collection = s.collection AND h.dataset = s.dataset AND h.model = s.model AND h.optimizer = s.optimizer
    AND h.batch_size = s.batch_size AND h.trial_id = t.trial_id
WHERE list_contains(s.metrics, metric);
