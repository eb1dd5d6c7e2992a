-- One row per trial: a number that trials of the same setting of a study share, whether the setting is known, and a number that
-- trials of one submitter share, 0 without one. Logs of one
-- submitter and system are one setting. Otherwise a setting is the numeric metaparameters without those that are seeds; trials
-- without any are of their submitter's, or settings of their own.
CREATE VIEW base.settings AS
SELECT
    study_id, trial_id,
    CASE
        WHEN coalesce(submission, submitter) IS NULL AND len(settings) = 0 THEN hash(trial_id)
        WHEN submission IS NULL AND len(settings) = 0 THEN hash(submitter)
        ELSE hash([submission::VARCHAR, settings::VARCHAR])
    END AS setting,
    coalesce(submission, submitter) IS NOT NULL OR len(settings) > 0 AS is_known,
    CASE WHEN submitter IS NULL THEN 0 ELSE hash(submitter) END AS submitter
FROM (
    SELECT
        study_id,
        trial_id,
        coalesce(attributes['submission_org'], attributes['org'], attributes['submitter']) AS submitter,
        submitter || ' ' || coalesce(attributes['submission_platform'], attributes['system']) AS submission,
        CASE
            WHEN submission IS NOT NULL OR parameters IS NULL THEN []
            ELSE list_sort(list_filter(map_entries(parameters), lambda each: NOT each.key ILIKE '%seed%'))
        END AS settings
    FROM base.trials
);
