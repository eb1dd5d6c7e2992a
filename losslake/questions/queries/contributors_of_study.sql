-- One row per contributor and role of the study $study_id.
SELECT DISTINCT c.name, c.orcid, c.role
FROM base.contributors AS c
JOIN base.studies AS s USING (collection, dataset, model, optimizer, batch_size)
WHERE s.study_id = $study_id
ORDER BY ALL;
