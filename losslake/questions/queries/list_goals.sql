-- One row per goal of a workload in this release.
SELECT
    concat_ws('/', collection, dataset, model, optimizer) AS workload,
    collection, dataset, model, optimizer, metric, target, comparator, source
FROM base.goals;
