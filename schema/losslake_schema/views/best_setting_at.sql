-- One row per study that measures the metric: the least, over settings, of the median steps to the target over the COMPLETE and
-- MISSED trials of a setting (of an even number, the lower one in the middle), or of their mean for seeds := 'mean', to a whole step. A trial that
-- never reaches the target takes infinitely many; if the best setting does, steps is null. Settings of fewer than 3 trials count
-- only in a study without a larger one; a tie goes to the setting with the lower trial_id. trial_id, value: of the trial at the
-- median, or nearest to the mean. steps_q25, steps_q75: within which a quarter, and three quarters, of the setting's trials reach it.
-- direction, comparator, workload and flagged are as for steps_to.
CREATE MACRO best_setting_at(metric, target, seeds := 'median', direction := NULL, comparator := NULL, workload := NULL, flagged := 'exclude') AS TABLE
WITH trial AS (
    SELECT
        t.* EXCLUDE (examples), g.setting, g.attributes,
        count(*) OVER of_setting AS n_seeds,
        row_number() OVER (of_setting ORDER BY t.steps NULLS LAST, t.trial_id) AS place,
        CASE WHEN count(t.steps) OVER of_setting = count(*) OVER of_setting THEN avg(t.steps) OVER of_setting END AS mean,
        count(*) OVER of_study AS n_trials,
        count(t.steps) OVER of_study AS n_reached
    FROM steps_to(metric, target, direction := direction, comparator := comparator, workload := workload, flagged := flagged) AS t
    JOIN (
$trial_settings
    ) AS g
        ON g.collection = t.collection AND g.dataset = t.dataset AND g.model = t.model AND g.optimizer = t.optimizer
        AND g.batch_size = coalesce(t.batch_size, 0) AND g.trial_id = t.trial_id
    WHERE t.status IN ('COMPLETE', 'MISSED') AND CASE
        WHEN seeds NOT IN ('median', 'mean') THEN error('seeds ' || seeds || ' is neither median nor mean')
        ELSE true
    END
    WINDOW
        of_study AS (PARTITION BY t.collection, t.dataset, t.model, t.optimizer, t.batch_size),
        of_setting AS (PARTITION BY t.collection, t.dataset, t.model, t.optimizer, t.batch_size, g.setting)
),
-- The trial of each setting: at the median, or nearest to the mean.
usual AS (
    SELECT
        t.*,
        CASE WHEN seeds = 'median' THEN t.steps ELSE CAST(round_even(t.mean, 0) AS BIGINT) END AS usual,
        CASE WHEN seeds = 'median' THEN t.steps ELSE t.mean END AS least,
        CASE WHEN seeds = 'median' THEN t.previous_step ELSE s.previous_step END AS usual_previous_step,
        s.first_trial, s.steps_q25, s.steps_q75
    FROM trial AS t
    JOIN (
        SELECT
            t.collection, t.dataset, t.model, t.optimizer, t.batch_size, t.setting,
            min(t.trial_id) AS first_trial,
            min(t.steps) FILTER (t.place = ceil(t.n_seeds * 0.25)) AS steps_q25,
            min(t.steps) FILTER (t.place = ceil(t.n_seeds * 0.75)) AS steps_q75,
            CASE WHEN count(t.previous_step) = count(*) THEN CAST(round_even(avg(t.previous_step), 0) AS BIGINT) END AS previous_step
        FROM trial AS t
        GROUP BY ALL
    ) AS s
        ON s.collection = t.collection AND s.dataset = t.dataset AND s.model = t.model AND s.optimizer = t.optimizer
        AND s.batch_size IS NOT DISTINCT FROM t.batch_size AND s.setting = t.setting
    QUALIFY row_number() OVER (
        PARTITION BY t.collection, t.dataset, t.model, t.optimizer, t.batch_size, t.setting
        ORDER BY CASE WHEN seeds = 'median' THEN abs(t.place - (t.n_seeds + 1) // 2) ELSE abs(t.steps - t.mean) END, t.trial_id
    ) = 1
),
counted AS (
    SELECT u.*, count(*) OVER of_study AS n_settings
    FROM (
        SELECT u.*, max(u.n_seeds) OVER of_study AS most_seeds
        FROM usual AS u
        WINDOW of_study AS (PARTITION BY u.collection, u.dataset, u.model, u.optimizer, u.batch_size)
    ) AS u
    WHERE u.n_seeds >= 3 OR u.most_seeds < 3
    WINDOW of_study AS (PARTITION BY u.collection, u.dataset, u.model, u.optimizer, u.batch_size)
)
SELECT
    c.collection, c.dataset, c.model, c.optimizer, c.batch_size, c.metric, c.target, c.comparator,
    c.usual AS steps,
    CASE WHEN c.usual IS NOT NULL THEN c.trial_id END AS trial_id,
    CASE WHEN c.usual IS NOT NULL THEN c.value END AS value,
    $examples(coalesce(c.batch_size, 0), c.attributes, c.usual) AS examples,
    CASE WHEN c.usual IS NOT NULL THEN c.usual_previous_step END AS previous_step,
    c.setting, c.n_settings, c.n_seeds, c.steps_q25, c.steps_q75, c.n_trials, c.n_reached
FROM counted AS c
QUALIFY row_number() OVER (
    PARTITION BY c.collection, c.dataset, c.model, c.optimizer, c.batch_size ORDER BY c.least NULLS LAST, c.first_trial
) = 1
