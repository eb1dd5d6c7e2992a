-- One row per trial in a range of study_id that has a finite learning rate, by any of these names, with the first of them;
-- by study_id.
SELECT study_id, trial_id, name, parameters[name] AS rate
FROM (
    SELECT
        study_id, trial_id, parameters,
        list_filter(
            ['learning_rate', 'effective_learning_rate', 'lr', 'init_lr', 'base_learning_rate'],
            lambda name: isfinite(parameters[name])
        )[1] AS name
    FROM base.trials
    WHERE study_id BETWEEN $first_study AND $last_study
)
WHERE name IS NOT NULL
ORDER BY study_id;
