-- One row per workload, with its batch sizes, the metrics that any of its studies measures, its goals and counts.
WITH of_goals AS (
    SELECT
        collection, dataset, model, optimizer,
        list(struct_pack(metric := metric, target := target, source := source)
             ORDER BY starts_with(metric, 'val/') DESC, metric, target, source) AS goals
    FROM base.goals
    GROUP BY collection, dataset, model, optimizer
),
of_metrics AS (
    SELECT collection, dataset, model, optimizer, list(DISTINCT metric ORDER BY metric) AS metrics
    FROM (SELECT collection, dataset, model, optimizer, unnest(metrics) AS metric FROM base.studies)
    GROUP BY collection, dataset, model, optimizer
)
SELECT
    w.workload, w.collection, w.dataset, w.model, w.optimizer, w.batch_unit, w.batch_sizes,
    coalesce(m.metrics, []) AS metrics,
    coalesce(g.goals, []) AS goals,
    w.n_studies, w.n_trials, w.n_complete, w.n_missed, w.n_incomplete, w.n_infeasible, w.n_evaluations
FROM workloads AS w
LEFT JOIN of_goals AS g USING (collection, dataset, model, optimizer)
LEFT JOIN of_metrics AS m USING (collection, dataset, model, optimizer);
