-- One row per metric with a known direction.
SELECT metric, direction
FROM base.metrics
WHERE direction IS NOT NULL
ORDER BY metric;
