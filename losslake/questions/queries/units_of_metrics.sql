-- One row per metric of a list: its unit.
SELECT metric, unit
FROM base.metrics
WHERE list_contains($metrics::VARCHAR[], metric);
