-- One row per trial in a range of study_id, ordered by study and trial_id: the hardware it ran on, its accelerators and the examples of an epoch, as its log says.
SELECT r.hardware, r.accelerator, r.accelerators, r.examples_per_epoch
FROM trial_resources AS r
JOIN base.studies AS s
    ON s.collection = r.collection AND s.dataset = r.dataset AND s.model = r.model AND s.optimizer = r.optimizer
    AND s.batch_size = r.batch_size
WHERE s.study_id BETWEEN $first_study AND $last_study
ORDER BY s.study_id, r.trial_id;
