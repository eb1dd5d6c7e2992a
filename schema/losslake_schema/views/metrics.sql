-- One row per metric: direction, unit, meaning.
CREATE VIEW metrics AS
SELECT * EXCLUDE (metric_id) FROM base.metrics;
