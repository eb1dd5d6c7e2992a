-- One row per trial that answers leave out, and rule: a reason why its number of examples can't be right.
SELECT DISTINCT s.study_id, f.trial_id, f.rule
FROM base.flags AS f
JOIN base.studies AS s USING (collection, dataset, model, optimizer, batch_size);
