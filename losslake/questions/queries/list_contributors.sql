-- One row per study, contributor, role and submission.
SELECT
    concat_ws('/', collection, dataset, model, optimizer, batch_size) AS study,
    concat_ws('/', collection, dataset, model, optimizer) AS workload,
    collection, dataset, model, optimizer, batch_size, name, orcid, role, contribution, count(*) AS n_trials
FROM base.contributors
GROUP BY ALL;
