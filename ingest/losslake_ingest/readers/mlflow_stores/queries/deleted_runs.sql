-- One row: the number of runs that are deleted, themselves or with their experiment.
SELECT COUNT(*)
FROM runs AS r
LEFT JOIN experiments AS e ON e.experiment_id = r.experiment_id
WHERE COALESCE(r.lifecycle_stage, 'active') = 'deleted' OR COALESCE(e.lifecycle_stage, 'active') = 'deleted'
