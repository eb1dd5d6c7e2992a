-- One row per workload and metric: the best value of any trial, from the records.
SELECT
    collection, dataset, model, optimizer, metric,
    CASE WHEN any_value(m.direction) = 'minimize' THEN min(value) ELSE max(value) END AS best
FROM records
JOIN metrics AS m USING (metric)
GROUP BY ALL;
