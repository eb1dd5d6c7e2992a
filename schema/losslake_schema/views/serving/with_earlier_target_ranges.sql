-- The rows of base.target_ranges, and those of unchanged workloads in an earlier release, in order.
CREATE OR REPLACE TABLE base.target_ranges AS
SELECT * EXCLUDE (place)
FROM (
    SELECT *, rowid AS place
    FROM base.target_ranges
    UNION ALL
    SELECT f.frontier, r.* EXCLUDE (frontier), r.rowid
    FROM earlier.base.target_ranges AS r
    JOIN earlier.base.frontiers AS e USING (frontier)
    JOIN base.frontiers AS f USING (collection, dataset, model, optimizer, batch_size, metric)
    SEMI JOIN unchanged USING (collection, dataset, model, optimizer)
)
ORDER BY frontier, place;
