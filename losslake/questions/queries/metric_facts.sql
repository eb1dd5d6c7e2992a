-- One row per metric that is registered or measured.
SELECT metric, metric_id, direction
FROM base.metrics
ORDER BY metric;
