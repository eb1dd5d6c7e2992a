-- One row per trial in a range of study_id, ordered by study and trial_id: one of its metaparameters, as a number or JSON.
SELECT parameters[$name] AS number, attributes[$name] AS other
FROM base.trials
WHERE study_id BETWEEN $first_study AND $last_study
ORDER BY study_id, trial_id;
