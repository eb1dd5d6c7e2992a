-- One row per goal and batch size: the first complete trial to the target, of several the one with the
-- lowest number. A trial's own steps are found in the order of its curve, which is left at once.
-- goals: a JSON array of [workload, metric, sign, target].
WITH goals AS MATERIALIZED (
    SELECT value ->> 0 AS workload, value ->> 1 AS metric, value ->> 2 AS sign, value ->> 3 AS target
    FROM json_each(:goals)
),
steps AS MATERIALIZED (
    SELECT goals.workload, goals.target, studies.batch_size, study_id, metric_id, trial_id, (
        SELECT step
        FROM measurements
        WHERE measurements.study_id = studies.study_id AND measurements.metric_id = metrics.metric_id
            AND measurements.trial_id = complete.trial_id AND sign * value < sign * target
        ORDER BY step
        LIMIT 1
    ) AS step
    FROM goals
    JOIN studies USING (workload)
    JOIN metrics USING (metric)
    JOIN complete USING (study_id)
),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY workload, target, study_id ORDER BY step, trial_id) AS place
    FROM steps
    WHERE step IS NOT NULL
)
SELECT target, batch_size, step, trial_id, value
FROM ranked
JOIN measurements USING (study_id, metric_id, trial_id, step)
WHERE place = 1;
