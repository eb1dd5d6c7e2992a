-- One row per study in a range of study_id: in how many settings its trials of those statuses were run; a setting is
-- a trial's numeric metaparameters, without those that are seeds. Settings are told apart by their hashes.
SELECT
    study_id,
    count(
        DISTINCT hash(list_sort(list_filter(map_entries(parameters), lambda each: NOT each.key ILIKE '%seed%')))
    )
FROM base.trials
WHERE study_id BETWEEN $first_study AND $last_study AND list_contains($statuses, status)
GROUP BY study_id
ORDER BY study_id;
