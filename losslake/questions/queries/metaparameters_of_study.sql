-- One row per trial of a study, by trial_id: its metaparameters that are numbers, and those that aren't, as JSON.
SELECT parameters, attributes
FROM base.trials
WHERE study_id = $study_id
ORDER BY trial_id;
