-- One row per metric of which somebody has said which way is better.
SELECT metric, direction
FROM base.metrics
WHERE direction IS NOT NULL
ORDER BY metric;
