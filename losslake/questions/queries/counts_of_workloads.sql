-- One row per workload: its studies, trials and evaluations.
SELECT
    collection, dataset, model, optimizer,
    count(*) AS n_studies,
    CAST(coalesce(sum(n_trials), 0) AS BIGINT) AS n_trials,
    CAST(coalesce(sum(n_evaluations), 0) AS BIGINT) AS n_evaluations
FROM base.studies
GROUP BY ALL;
