-- The metrics with their units, those that most studies measure first.
SELECT metric, direction, unit, count(*) AS n_studies
FROM metrics JOIN studies ON list_contains(studies.metrics, metrics.metric)
GROUP BY metric, direction, unit
ORDER BY n_studies DESC, metric
