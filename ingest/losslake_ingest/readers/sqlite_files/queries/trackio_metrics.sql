-- A row is one call of log(): the values as JSON, in the order written. Indexes, which may be damaged, aren't used.
SELECT run_id, run_name, step, timestamp, metrics
FROM metrics NOT INDEXED
ORDER BY run_id, id
