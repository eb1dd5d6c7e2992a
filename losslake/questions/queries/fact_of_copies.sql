-- One row per other log of a trial in a range of study_id: the place of the trial among those, from 0, and one of its
-- metaparameters as that log states it, as a number or JSON.
SELECT t.place, c.parameters[$name] AS number, c.attributes[$name] AS other
FROM base.copies AS c
JOIN (
    SELECT
        collection, dataset, model, optimizer, batch_size, trial_id, row_number() OVER (ORDER BY study_id, trial_id) - 1 AS place
    FROM base.trials
    WHERE study_id BETWEEN $first_study AND $last_study
) AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
ORDER BY t.place, c.rowid;
