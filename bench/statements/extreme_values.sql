-- One row per workload and metric: how many measurements, and their least and greatest finite value.
SELECT
    collection, dataset, model, optimizer, metric, count(*) AS n,
    min(value) FILTER (isfinite(value)) AS least,
    max(value) FILTER (isfinite(value)) AS greatest
FROM measurements
GROUP BY ALL;
