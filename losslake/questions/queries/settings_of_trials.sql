-- One row per trial in a range of study_id, by study_id and trial_id: a number that trials of the same setting share, and
-- whether the setting is known. Logs of one submitter and system are one setting; the submitter is the organisation under
-- its one name, since a log's own submission_org is often that of the author of its code. Otherwise a setting is the numeric
-- metaparameters without those that are seeds; trials without any are of their submitter's, or settings of their own.
SELECT
    CASE
        WHEN coalesce(submission, submitter) IS NULL AND len(settings) = 0 THEN hash(trial_id)
        WHEN submission IS NULL AND len(settings) = 0 THEN hash(submitter)
        ELSE hash([submission::VARCHAR, settings::VARCHAR])
    END AS setting,
    coalesce(submission, submitter) IS NOT NULL OR len(settings) > 0 AS is_known
FROM (
    SELECT
        study_id,
        trial_id,
        coalesce(attributes['org'], attributes['submission_org'], attributes['submitter']) AS submitter,
        submitter || ' ' || coalesce(attributes['submission_platform'], attributes['system']) AS submission,
        CASE
            WHEN submission IS NOT NULL OR parameters IS NULL THEN []
            ELSE list_sort(list_filter(map_entries(parameters), lambda each: NOT each.key ILIKE '%seed%'))
        END AS settings
    FROM base.trials
    WHERE study_id BETWEEN $first_study AND $last_study
)
ORDER BY study_id, trial_id;
