-- One row per metric: direction, unit and description.
CREATE VIEW metrics AS
SELECT * EXCLUDE (metric_id) FROM base.metrics;
