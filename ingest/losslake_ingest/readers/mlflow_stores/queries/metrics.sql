-- A row is one logged value of a metric of a run that is not deleted. Values are ordered by time, since the order in
-- which they were written is not stored.
SELECT
    m.run_uuid, m.key, m.step, m.timestamp, m.value, m.is_nan
FROM metrics AS m
WHERE m.run_uuid IN (
    SELECT r.run_uuid
    FROM runs AS r
    LEFT JOIN experiments AS e ON e.experiment_id = r.experiment_id
    WHERE COALESCE(r.lifecycle_stage, 'active') <> 'deleted'
      AND COALESCE(e.lifecycle_stage, 'active') <> 'deleted'
)
ORDER BY m.run_uuid, m.key, m.timestamp, m.step, m.is_nan, m.value
