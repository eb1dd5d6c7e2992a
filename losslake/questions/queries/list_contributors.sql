-- One row per study, contributor, role and submission.
SELECT
    concat_ws('/', collection, dataset, model, optimizer, coalesce(CAST(nullif(batch_size, 0) AS VARCHAR), 'scheduled')) AS study,
    concat_ws('/', collection, dataset, model, optimizer) AS workload,
    collection, dataset, model, optimizer, nullif(batch_size, 0) AS batch_size, name, orcid, role, contribution, count(*) AS n_trials
FROM base.contributors
GROUP BY ALL;
