-- One row per trial and goal of its workload that it reached, at which step: for the tables that are made next, and not kept.
CREATE TEMP TABLE goal_hits AS
SELECT
    r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, g.metric, g.target,
    min(r.step) AS steps
FROM changed_records AS r
JOIN base.metrics AS m ON m.metric = r.metric
JOIN base.goals AS g ON g.metric = r.metric AND g.collection = r.collection AND g.dataset = r.dataset
    AND g.model = r.model AND g.optimizer = r.optimizer
WHERE abs(r.value) < CAST('infinity' AS DOUBLE) AND (
    CASE WHEN m.direction = 'minimize' THEN r.value < g.target ELSE r.value > g.target END
    OR r.value = g.target AND g.comparator = 'inclusive'
)
GROUP BY r.collection, r.dataset, r.model, r.optimizer, r.batch_size, r.trial_id, g.metric, g.target;
