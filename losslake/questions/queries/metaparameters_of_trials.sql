-- One row per numeric metaparameter of a trial in a range of study_id; row counts these trials from 0, by study_id and
-- trial_id.
SELECT row, unnest(map_keys(parameters)) AS name, unnest(map_values(parameters)) AS value
FROM (
    SELECT row_number() OVER (ORDER BY study_id, trial_id) - 1 AS row, parameters
    FROM base.trials
    WHERE study_id BETWEEN $first_study AND $last_study
);
