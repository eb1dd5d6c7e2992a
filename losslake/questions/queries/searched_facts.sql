-- One row per workload and fact of its trials that searches look for: a round (as v4.0), an organisation, a system.
SELECT DISTINCT
    collection, dataset, model, optimizer,
    CASE WHEN fact = 'round' THEN 'v' ELSE '' END || json_extract_string(attributes[fact], '$') AS text
FROM (
    SELECT collection, dataset, model, optimizer, attributes FROM base.trials
    UNION ALL
    SELECT collection, dataset, model, optimizer, attributes FROM base.copies
),
(VALUES
    ('round'), ('org'), ('org_as_written'), ('submission_org'), ('submitter'), ('submission'),
    ('system'), ('submission_platform'), ('hardware'), ('accelerator'), ('accelerators')
) AS searched (fact)
WHERE attributes[fact] IS NOT NULL
ORDER BY ALL;
