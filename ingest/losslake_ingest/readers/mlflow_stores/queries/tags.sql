-- A row is one tag of a run that is not deleted. Of MLflow's system tags only the run's name has its value: the others
-- contain private data about users, code and machines.
SELECT
    m.run_uuid,
    m.key,
    CASE WHEN m.key LIKE 'mlflow.%' AND m.key <> 'mlflow.runName' THEN '' ELSE m.value END
FROM tags AS m
WHERE m.run_uuid IN (
    SELECT r.run_uuid
    FROM runs AS r
    LEFT JOIN experiments AS e ON e.experiment_id = r.experiment_id
    WHERE COALESCE(r.lifecycle_stage, 'active') <> 'deleted'
      AND COALESCE(e.lifecycle_stage, 'active') <> 'deleted'
)
ORDER BY m.run_uuid, m.key
