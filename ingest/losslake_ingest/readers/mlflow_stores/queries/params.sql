-- A row is one parameter of a run that is not deleted.
SELECT
    m.run_uuid, m.key, m.value
FROM params AS m
WHERE m.run_uuid IN (
    SELECT r.run_uuid
    FROM runs AS r
    LEFT JOIN experiments AS e ON e.experiment_id = r.experiment_id
    WHERE COALESCE(r.lifecycle_stage, 'active') <> 'deleted'
      AND COALESCE(e.lifecycle_stage, 'active') <> 'deleted'
)
ORDER BY m.run_uuid, m.key
