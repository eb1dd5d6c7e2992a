-- The rows of a table, one per trial, and those of unchanged workloads in an earlier release, in order.
CREATE OR REPLACE TABLE base.$table AS
SELECT *
FROM (
    FROM base.$table
    UNION ALL
    FROM earlier.base.$table SEMI JOIN unchanged USING (collection, dataset, model, optimizer)
)
ORDER BY ALL;
