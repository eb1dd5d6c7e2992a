-- One row per trial: the hardware it ran on (a system), its accelerators and the examples of an epoch, as its log says, in names that mappings and
-- formats share; null for unknown. accelerator is what they are called, accelerators their number: the metaparameter of that name, or accelerators_per_node times number_of_nodes. examples_per_epoch is the metaparameter of that
-- name, or what its steps were computed with from epochs, or else train_samples or num_train_examples, as MLPerf logs say.
-- n_parameters counts the parameters of the model with its embeddings, n_parameters_non_embedding those without; n_active_parameters
-- those that a token passes, of a mixture of experts. tokens_per_example is
-- the metaparameter of that name, or 1 where batch_unit is tokens. flops_per_token: of training, forward and backward.
CREATE VIEW trial_resources AS
SELECT
    t.collection, t.dataset, t.model, t.optimizer, nullif(t.batch_size, 0) AS batch_size, t.trial_id,
    trim(BOTH '"' FROM coalesce(
        attributes['system'], attributes['submission_platform'], attributes['hardware'], attributes['accelerator']
    )) AS hardware,
    trim(BOTH '"' FROM attributes['accelerator']) AS accelerator,
    CASE
        WHEN parameters['accelerators'] >= 1 THEN parameters['accelerators']
        WHEN parameters['accelerators_per_node'] * parameters['number_of_nodes'] >= 1
        THEN parameters['accelerators_per_node'] * parameters['number_of_nodes']
    END AS accelerators,
$examples_per_epoch AS examples_per_epoch,
    CASE WHEN parameters['n_parameters'] >= 1 THEN parameters['n_parameters'] END AS n_parameters,
    CASE
        WHEN parameters['n_parameters_non_embedding'] >= 1 THEN parameters['n_parameters_non_embedding']
    END AS n_parameters_non_embedding,
    CASE WHEN parameters['n_active_parameters'] >= 1 THEN parameters['n_active_parameters'] END AS n_active_parameters,
    CASE
        WHEN s.batch_unit = 'tokens' THEN 1.0
        WHEN parameters['tokens_per_example'] > 0 THEN parameters['tokens_per_example']
    END AS tokens_per_example,
    CASE WHEN parameters['flops_per_token'] > 0 THEN parameters['flops_per_token'] END AS flops_per_token
FROM base.trials AS t
JOIN base.studies AS s USING (collection, dataset, model, optimizer, batch_size)
