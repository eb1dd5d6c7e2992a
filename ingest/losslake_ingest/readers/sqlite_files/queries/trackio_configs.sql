-- A row is the configuration of one run, as JSON.
SELECT run_id, config, created_at
FROM configs
