-- One row per goal of a workload in this release.
SELECT collection, dataset, model, optimizer, metric, target, source
FROM base.goals
ORDER BY ALL;
