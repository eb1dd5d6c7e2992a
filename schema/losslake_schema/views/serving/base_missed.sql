-- One row per trial that failed, though its log says no more than that it is INCOMPLETE: it was trained for the whole schedule
-- of its study (train_steps), or for as many steps as the slowest COMPLETE trial that reached a goal of the workload, and
-- didn't reach that goal itself. The slowest is that of its setting, or of its study where none of its setting reached the
-- goal. Its status becomes MISSED, here alone: other trials and goals decide it, which later ingests add.
CREATE TABLE base.missed AS
WITH stopped AS (
    SELECT
        t.study_id, t.collection, t.dataset, t.model, t.optimizer, t.batch_size, t.trial_id, g.metric, g.target,
        greatest(coalesce(t.steps, 0), t.last_step) AS trained, s.train_steps
    FROM base.trials AS t
    ANTI JOIN unchanged USING (collection, dataset, model, optimizer)
    JOIN base.studies AS s USING (study_id)
    JOIN base.goals AS g ON g.collection = t.collection AND g.dataset = t.dataset AND g.model = t.model
        AND g.optimizer = t.optimizer AND list_contains(s.metrics, g.metric)
    JOIN base.metrics AS m ON m.metric = g.metric AND m.direction IS NOT NULL
    WHERE t.status = 'INCOMPLETE' AND t.last_step IS NOT NULL
),
setting AS (
    SELECT study_id, trial_id, setting
    FROM (
$trial_settings
    )
    WHERE study_id IN (SELECT study_id FROM stopped)
),
slowest AS (
    SELECT c.study_id, c.setting, h.metric, h.target, max(h.steps) AS steps
    FROM setting AS c
    JOIN base.trials AS t USING (study_id, trial_id)
    JOIN goal_hits AS h USING (collection, dataset, model, optimizer, batch_size, trial_id)
    ANTI JOIN base.flags USING (collection, dataset, model, optimizer, batch_size, trial_id)
    WHERE t.status = 'COMPLETE'
    GROUP BY GROUPING SETS ((c.study_id, c.setting, h.metric, h.target), (c.study_id, h.metric, h.target))
)
SELECT DISTINCT ON (study_id, trial_id)
    collection, dataset, model, optimizer, batch_size, trial_id, metric, target
FROM stopped
JOIN setting AS c USING (study_id, trial_id)
ANTI JOIN goal_hits USING (collection, dataset, model, optimizer, batch_size, trial_id, metric, target)
LEFT JOIN slowest AS own USING (study_id, setting, metric, target)
LEFT JOIN slowest AS whole ON whole.study_id = stopped.study_id AND whole.setting IS NULL AND whole.metric = stopped.metric
    AND whole.target = stopped.target
WHERE trained >= coalesce(own.steps, whole.steps) OR train_steps > 0 AND trained >= train_steps
ORDER BY study_id, trial_id, metric, target;
