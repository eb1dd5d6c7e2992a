-- One row per name of a parameter or attribute of a trial.
SELECT unnest(map_keys(parameters)) AS name FROM base.trials
UNION
SELECT unnest(map_keys(attributes)) FROM base.trials;
