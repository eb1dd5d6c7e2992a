-- One row per metaparameter of any trial, in any of its logs: its name, and whether it is a number.
SELECT unnest(map_keys(parameters)) AS name, true AS is_number FROM base.trials
UNION
SELECT unnest(map_keys(attributes)), false FROM base.trials
UNION
SELECT unnest(map_keys(parameters)), true FROM base.copies
UNION
SELECT unnest(map_keys(attributes)), false FROM base.copies
ORDER BY ALL;
