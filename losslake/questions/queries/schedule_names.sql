-- One row per name of a schedule of batch sizes in some workloads.
SELECT DISTINCT CAST(attributes['batch_schedule_name'] AS JSON) ->> '$' AS name
FROM base.trials
WHERE batch_size = 0 AND concat_ws('/', collection, dataset, model, optimizer) IN (SELECT unnest($workloads));
