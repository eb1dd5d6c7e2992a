-- One row per trial of a study that measures the metric: its steps to the target, in the metric's own direction.
-- Reached means strictly better; NaN and infinities never are. Never reached: steps, value and previous_step are null.
-- Trials are joined before they are grouped, so that a filter on a workload gets down to its records.
CREATE MACRO steps_to(metric, target) AS TABLE
SELECT
    s.collection, s.dataset, s.model, s.optimizer, s.batch_size, t.trial_id, any_value(t.status) AS status,
    metric AS metric, CAST(target AS DOUBLE) AS target,
    min(h.step) AS steps,
    arg_min(h.value, h.step) AS value,
    arg_min(struct_pack(step := h.previous_step), h.step).step AS previous_step,
    any_value(t.last_step) AS last_step
FROM base.studies AS s
JOIN base.trials AS t ON t.study_id = s.study_id
LEFT JOIN (
    SELECT r.study_id, r.trial_id, r.step, r.value, r.previous_step
    FROM base.records AS r
    JOIN base.metrics AS m ON m.metric_id = r.metric_id
    WHERE m.metric = metric
      AND CASE WHEN m.direction = 'minimize' THEN r.value < target ELSE r.value > target END
) AS h ON h.study_id = t.study_id AND h.trial_id = t.trial_id
WHERE list_contains(s.metrics, metric)
GROUP BY s.collection, s.dataset, s.model, s.optimizer, s.batch_size, s.study_id, t.trial_id;
