-- One row per goal of a workload in the release.
CREATE TABLE base.goals AS
SELECT g.*
FROM read_parquet(getvariable('goals_files'), hive_partitioning = false) AS g
SEMI JOIN base.studies AS s USING (collection, dataset, model, optimizer)
ORDER BY ALL;
