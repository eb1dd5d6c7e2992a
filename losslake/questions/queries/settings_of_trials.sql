-- One row per trial in a range of study_id, by study_id and trial_id: a number that trials of the same setting share, and
-- whether the setting is known. Logs of one submitter and system are one setting. Otherwise a setting is the numeric
-- metaparameters without those that are seeds; trials without any are of their submitter's, or settings of their own. Runs of
-- one recipe, which mappings state, are one setting if their planned steps and metaparameters are equal, too.
SELECT
    CASE
        WHEN recipe IS NOT NULL THEN hash([recipe, steps::VARCHAR, settings::VARCHAR])
        WHEN coalesce(submission, submitter) IS NULL AND len(settings) = 0 THEN hash(trial_id)
        WHEN submission IS NULL AND len(settings) = 0 THEN hash(submitter)
        ELSE hash([submission::VARCHAR, settings::VARCHAR])
    END AS setting,
    coalesce(recipe, submission, submitter) IS NOT NULL OR len(settings) > 0 AS is_known
FROM (
    SELECT
        study_id,
        trial_id,
        attributes['recipe'] AS recipe,
        steps,
        coalesce(attributes['submission_org'], attributes['org'], attributes['submitter']) AS submitter,
        submitter || ' ' || coalesce(attributes['submission_platform'], attributes['system']) AS submission,
        CASE
            WHEN submission IS NOT NULL OR parameters IS NULL THEN []
            ELSE list_sort(list_filter(map_entries(parameters), lambda each: NOT each.key ILIKE '%seed%'))
        END AS settings
    FROM base.trials
    WHERE study_id BETWEEN $first_study AND $last_study
)
ORDER BY study_id, trial_id;
