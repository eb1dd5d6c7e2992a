-- One row per workload that is in an earlier release with the same `workload_inputs`, so that its derived rows are the same.
CREATE TEMP TABLE unchanged AS
SELECT DISTINCT collection, dataset, model, optimizer
FROM inputs
ANTI JOIN (
    (FROM inputs EXCEPT FROM earlier_inputs) UNION ALL (FROM earlier_inputs EXCEPT FROM inputs)
) USING (collection, dataset, model, optimizer);
