-- One row per metaparameter of any trial: its name, and whether it is a number.
SELECT DISTINCT unnest(map_keys(parameters)) AS name, true AS is_number FROM base.trials
UNION ALL
SELECT DISTINCT unnest(map_keys(attributes)), false FROM base.trials
ORDER BY ALL;
