-- One row per goal of a workload in this release, goals on validation data first: val selects, test reports.
SELECT collection, dataset, model, optimizer, metric, target, source, comparator
FROM base.goals
ORDER BY collection, dataset, model, optimizer, starts_with(metric, 'val/') DESC, metric, target, source;
