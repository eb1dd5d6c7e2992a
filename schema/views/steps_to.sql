-- One row per trial of a study that measures the metric: its steps to the target, in the metric's own direction.
-- Reached means strictly better; NaN and infinities never are. Never reached: steps, value and previous_step are null.
CREATE MACRO steps_to(metric, target) AS TABLE
WITH hit AS (
    SELECT r.study_id, r.trial_id, arg_min(struct_pack(step := r.step, value := r.value, previous_step := r.previous_step), r.step) AS first
    FROM base.records AS r
    JOIN base.metrics AS m USING (metric_id)
    WHERE m.metric = metric
      AND CASE WHEN m.direction = 'minimize' THEN r.value < target ELSE r.value > target END
    GROUP BY r.study_id, r.trial_id
)
SELECT
    s.collection, s.dataset, s.model, s.optimizer, s.batch_size, t.trial_id, t.status,
    metric AS metric, CAST(target AS DOUBLE) AS target,
    h.first.step AS steps, h.first.value AS value, h.first.previous_step AS previous_step, t.last_step
FROM base.studies AS s
JOIN base.trials AS t USING (study_id)
LEFT JOIN hit AS h ON h.study_id = t.study_id AND h.trial_id = t.trial_id
WHERE list_contains(s.metrics, metric);
