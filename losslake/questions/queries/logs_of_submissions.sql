-- One row per log of a run that states a round, an organisation, a system and a benchmark, as those of MLPerf do: also of
-- other logs of the same run (is_copy), by study and trial. entry: the organisation as this round calls it. folder: that of
-- the log, where it has the name of a published result. seconds: from run_start to run_stop, as text. in_epochs: the
-- position of evaluations was logged in epochs of a known size.
WITH log AS (
    SELECT
        study_id, trial_id, status, FALSE AS is_copy, collection, dataset, model, optimizer, batch_size, parameters, attributes, source
    FROM base.trials
    UNION ALL
    SELECT
        s.study_id, c.trial_id, c.status, TRUE, c.collection, c.dataset, c.model, c.optimizer, c.batch_size, c.parameters,
        c.attributes, c.source
    FROM base.copies AS c
    JOIN base.studies AS s USING (collection, dataset, model, optimizer, batch_size)
),
fact AS (
    SELECT
        study_id, trial_id, status, is_copy, collection, dataset, model, optimizer, batch_size,
        split_part(collection, '/', 1) AS suite,
        json_extract_string(attributes['round'], '$') AS round,
        coalesce(
            json_extract_string(attributes['submission_division'], '$'), CASE WHEN collection LIKE '%/open' THEN 'open' END
        ) AS division,
        json_extract_string(attributes['org'], '$') AS organisation,
        coalesce(json_extract_string(attributes['org_as_written'], '$'), organisation) AS entry,
        json_extract_string(attributes['system'], '$') AS system,
        json_extract_string(attributes['benchmark'], '$') AS benchmark,
        json_extract_string(attributes['scaling'], '$') AS scaling,
        json_extract_string(attributes['number'], '$') AS number,
        json_extract_string(attributes['run_seconds'], '$') AS seconds,
        json_extract_string(attributes['accelerator'], '$') AS accelerator,
        parameters['accelerators'] AS accelerators,
        parameters['examples_per_epoch'] IS NOT NULL OR coalesce(attributes['step'] LIKE '%epoch% x %', FALSE) AS in_epochs,
        coalesce(json_extract_string(attributes['source_url'], '$'), '') AS url,
        regexp_extract(source, '^(.*?)(/pruned_results)?/result_[^/]*\.txt$', 1) AS folder
    FROM log
    WHERE attributes['round'] IS NOT NULL AND attributes['org'] IS NOT NULL AND attributes['system'] IS NOT NULL
        AND attributes['benchmark'] IS NOT NULL
)
SELECT
    f.study_id, f.trial_id, f.status, f.is_copy, nullif(f.batch_size, 0) AS batch_size, f.suite, f.round, f.division, f.organisation, f.entry, f.system,
    f.benchmark, f.scaling, f.folder, f.number, f.seconds,
    coalesce(f.accelerator, r.accelerator) AS accelerator,
    coalesce(f.accelerators, r.accelerators) AS accelerators,
    CASE WHEN f.in_epochs THEN r.examples_per_epoch END AS examples_per_epoch,
    f.url
FROM fact AS f
JOIN trial_resources AS r
    ON r.collection = f.collection AND r.dataset = f.dataset AND r.model = f.model AND r.optimizer = f.optimizer
    AND coalesce(r.batch_size, 0) = f.batch_size AND r.trial_id = f.trial_id
ORDER BY f.study_id, f.trial_id, f.is_copy;
