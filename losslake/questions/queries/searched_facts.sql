-- One row per workload and fact of its trials that searches look for, with the number of trials that state it: a round
-- (as v4.0), a benchmark, an organisation, a system.
SELECT
    collection, dataset, model, optimizer, fact,
    CASE WHEN fact = 'round' THEN 'v' ELSE '' END || json_extract_string(attributes[fact], '$') AS text,
    count(*) AS n_trials
FROM (
    SELECT collection, dataset, model, optimizer, attributes FROM base.trials
    UNION ALL
    SELECT collection, dataset, model, optimizer, attributes FROM base.copies
),
(VALUES
    ('round'), ('benchmark'), ('org'), ('org_as_written'), ('submission_org'), ('submitter'), ('submission'),
    ('system'), ('submission_platform'), ('hardware'), ('accelerator'), ('accelerators')
) AS searched (fact)
WHERE attributes[fact] IS NOT NULL
GROUP BY ALL
ORDER BY ALL;
