-- One row per metric that is registered or measured.
SELECT metric, split, quantity, direction, unit, description
FROM base.metrics;
