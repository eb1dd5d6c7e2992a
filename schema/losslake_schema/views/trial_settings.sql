-- One row per trial, with the columns of base.trials: its setting, which trials of a study share that differ only in seeds, and
-- whether it is known; and its submitter. This is a part of trial_facts, base_missed and best_setting_at.
-- Logs of one submitter and system are one setting; the submitter is the organisation under its one name, since a log's own
-- submission_org is often that of the author of its code. Otherwise a setting is the numeric metaparameters without those that are
-- seeds; trials without any but facts of their model are of their submitter's, or settings of their own. Runs of one recipe and variant, which
-- mappings state, are one setting if their planned steps and metaparameters are equal, too. The schedule of a batch size that
-- changes is one of these.
SELECT
    *,
    CASE
        WHEN recipe IS NOT NULL THEN concat_ws(', ', recipe, steps || ' steps', nullif(metaparameters, ''))
        WHEN coalesce(submission, submitter) IS NULL AND NOT has_metaparameters THEN 'trial ' || trial_id
        WHEN submission IS NULL AND NOT has_metaparameters THEN submitter
        ELSE coalesce(submission, metaparameters)
    END AS setting,
    coalesce(recipe, submission, submitter) IS NOT NULL OR has_metaparameters AS has_setting
FROM (
    SELECT
        *,
        CASE
            WHEN attributes['recipe'] IS NOT NULL
            THEN concat_ws('/', trim(attributes['recipe'], '"'), trim(attributes['variant'], '"'))
        END AS recipe,
        trim(coalesce(attributes['org'], attributes['submission_org'], attributes['submitter']), '"') AS submitter,
        submitter || ' ' || trim(coalesce(attributes['submission_platform'], attributes['system']), '"') AS submission,
        concat_ws(', ', nullif(array_to_string(list_sort(list_transform(
            list_filter(coalesce(map_entries(parameters), []), lambda each: NOT each.key ILIKE '%seed%'),
            lambda each: each.key || '=' || each.value
        )), ', '), ''), attributes['batch_schedule']) AS metaparameters,
        attributes['batch_schedule'] IS NOT NULL OR len(list_filter(coalesce(map_keys(parameters), []), lambda each: NOT each ILIKE '%seed%' AND each NOT IN (
            'n_parameters', 'n_parameters_non_embedding', 'n_active_parameters', 'tokens_per_example', 'flops_per_token'
        ))) > 0 AS has_metaparameters
    FROM base.trials
)
