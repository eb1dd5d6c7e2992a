-- One row per goal and trial of its workload: the steps to target, null when the trial never reached it.
CREATE VIEW steps_to_target AS
WITH hit AS (
    SELECT g.metric, g.target, r.study_id, r.trial_id, arg_min(struct_pack(step := r.step, value := r.value, previous_step := r.previous_step), r.step) AS first
    FROM base.goals AS g
    JOIN base.metrics AS m USING (metric)
    JOIN base.studies AS s USING (collection, dataset, model, optimizer)
    JOIN base.records AS r ON r.metric_id = m.metric_id AND r.study_id = s.study_id
    WHERE CASE WHEN m.direction = 'minimize' THEN r.value < g.target ELSE r.value > g.target END
    GROUP BY ALL
)
SELECT
    s.collection, s.dataset, s.model, s.optimizer, s.batch_size, t.trial_id, t.status,
    g.metric, g.target, h.first.step AS steps, h.first.value AS value, h.first.previous_step AS previous_step, t.last_step
FROM base.goals AS g
JOIN base.studies AS s USING (collection, dataset, model, optimizer)
JOIN base.trials AS t USING (study_id)
LEFT JOIN hit AS h
    ON h.metric = g.metric AND h.target = g.target AND h.study_id = t.study_id AND h.trial_id = t.trial_id;
