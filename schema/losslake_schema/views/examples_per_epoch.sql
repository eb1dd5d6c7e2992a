-- The examples of an epoch of a trial, as its log says; null for unknown. This is a part of trial_resources and schedule_facts.
    CASE
        WHEN parameters['examples_per_epoch'] >= 1 THEN parameters['examples_per_epoch']
        WHEN regexp_matches(attributes['step'], '^"[^;]*epoch[^;]* x [0-9.]+ / [0-9.]+"$')
            AND CAST(regexp_extract(attributes['step'], ' x ([0-9.]+) / [0-9.]+"$', 1) AS DOUBLE) >= 1
        THEN CAST(regexp_extract(attributes['step'], ' x ([0-9.]+) / [0-9.]+"$', 1) AS DOUBLE)
        WHEN parameters['train_samples'] >= 1 THEN parameters['train_samples']
        WHEN parameters['num_train_examples'] >= 1 THEN parameters['num_train_examples']
    END
