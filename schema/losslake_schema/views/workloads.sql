-- One row per workload: (collection, dataset, model, optimizer), with its batch sizes and counts. Trials whose batch
-- size changes are a study that batch_sizes lacks.
CREATE VIEW workloads AS
SELECT
    collection || '/' || dataset || '/' || model || '/' || optimizer AS workload,
    collection, dataset, model, optimizer,
    any_value(batch_unit) AS batch_unit,
    list_filter(list(batch_size ORDER BY batch_size), lambda size: size > 0) AS batch_sizes,
    count(*) AS n_studies,
    CAST(sum(n_trials) AS BIGINT) AS n_trials,
    CAST(sum(n_complete) AS BIGINT) AS n_complete,
    CAST(sum(n_missed) AS BIGINT) AS n_missed,
    CAST(sum(n_incomplete) AS BIGINT) AS n_incomplete,
    CAST(sum(n_infeasible) AS BIGINT) AS n_infeasible,
    CAST(sum(n_evaluations) AS BIGINT) AS n_evaluations
FROM base.studies
GROUP BY collection, dataset, model, optimizer
ORDER BY collection, dataset, model, optimizer;
