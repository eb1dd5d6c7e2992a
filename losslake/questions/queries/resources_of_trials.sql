-- One row per trial in a range of study_id, ordered by study and trial_id: the hardware it ran on, its accelerators, the examples of an epoch,
-- the parameters of its model, and the tokens and FLOPs, as its log or mapping says; null for unknown. counts_tokens: whether batch sizes do.
SELECT
    r.hardware, r.accelerator, r.accelerators, r.examples_per_epoch,
    r.n_parameters, r.n_parameters_non_embedding, r.n_active_parameters, r.tokens_per_example, r.flops_per_token,
    coalesce(s.batch_unit = 'tokens', false) AS counts_tokens
FROM trial_resources AS r
JOIN base.studies AS s
    ON s.collection = r.collection AND s.dataset = r.dataset AND s.model = r.model AND s.optimizer = r.optimizer
    AND s.batch_size = coalesce(r.batch_size, 0)
WHERE s.study_id BETWEEN $first_study AND $last_study
ORDER BY s.study_id, r.trial_id;
