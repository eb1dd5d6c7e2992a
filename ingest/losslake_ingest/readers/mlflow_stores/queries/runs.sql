-- A row is one run that is not deleted, with its experiment. Private columns are reduced to whether they have a value.
SELECT
    r.run_uuid,
    r.name,
    r.status,
    r.start_time,
    e.experiment_id,
    e.name,
    COALESCE(r.user_id, '') <> '',
    COALESCE(r.source_name, '') <> '' OR COALESCE(r.entry_point_name, '') <> '' OR COALESCE(r.source_version, '') <> '',
    COALESCE(r.artifact_uri, '') <> ''
FROM runs AS r
LEFT JOIN experiments AS e ON e.experiment_id = r.experiment_id
WHERE COALESCE(r.lifecycle_stage, 'active') <> 'deleted'
  AND COALESCE(e.lifecycle_stage, 'active') <> 'deleted'
ORDER BY r.run_uuid
