-- One row per trial, with the columns of base.trials: the schedule of its learning rate, in steps, and what says it. This is a part of
-- trial_schedules and base_schedules. Nothing is assumed: a fact that no rule gives is null.
-- Rules, the first that gives a fact counts: the facts schedule, warmup_end, decay_start and schedule_end; the arguments of Hugging Face's
-- Trainer (lr_scheduler_type); the decay of Shallue et al. 2019, linear from the first step on (learning_rate_decay_steps); the
-- hyperparameters of MLPerf, whose meaning is that of the reference implementations: BERT decays after warm-up until
-- opt_learning_rate_training_steps; DLRM and GNMT state the step at which they begin to decay; RNN-T the epochs of warm-up and
-- hold; schedules named "cosine with linear warmup" decay after warm-up for opt_learning_rate_decay_steps, and their steps
-- count from those of a checkpoint (init_checkpoint_step). ResNet states an end in epochs or in steps: one of fewer than 10 epochs of examples is
-- in epochs, of the whole training; in steps it means the whole training in some logs, and the part after warm-up in others, so it is unknown.
-- At last the facts logged_..., from a logged curve of learning rates. A start of decay beyond the end contradicts it: both are null.
SELECT
    *,
    CASE
        WHEN steps_of_start > steps_of_end THEN NULL
        WHEN steps_of_start BETWEEN 0 AND 1e15 THEN CAST(ceil(steps_of_start) AS BIGINT)
    END AS decay_start,
    CASE
        WHEN steps_of_start > steps_of_end THEN NULL
        WHEN steps_of_end BETWEEN 1 AND 1e15 THEN CAST(ceil(steps_of_end) AS BIGINT)
    END AS schedule_end
FROM (
    SELECT
        *,
        CASE
            WHEN coalesce(stated, '') <> '' THEN stated
            WHEN trainer = 'constant_with_warmup' THEN 'constant'
            WHEN trainer = 'warmup_stable_decay' THEN 'wsd'
            WHEN trainer IS NOT NULL THEN trainer
            WHEN rule = 'shallue' THEN 'linear'
            WHEN rule = 'bert' AND parameters['opt_lamb_learning_rate_decay_poly_power'] = 1 THEN 'linear'
            WHEN rule IN ('bert', 'dlrm', 'resnet') THEN 'polynomial'
            WHEN rule = 'rnnt' THEN 'exponential'
            WHEN rule IN ('gnmt', 'multistep') THEN 'step'
            WHEN rule IN ('llm', 'annealing') THEN 'cosine'
            WHEN rule = 'constant' THEN 'constant'
        END AS schedule,
        CASE WHEN warmup BETWEEN 0 AND 1e15 THEN CAST(ceil(warmup) AS BIGINT) END AS warmup_end,
        coalesce(CASE
            WHEN parameters['decay_start'] >= 0 THEN parameters['decay_start']
            WHEN trainer IN (
                'linear', 'polynomial', 'inverse_sqrt', 'cosine', 'cosine_with_restarts', 'cosine_with_min_lr',
                'cosine_warmup_with_min_lr'
            ) THEN warmup
            WHEN rule = 'shallue' THEN 0
            WHEN rule IN ('bert', 'llm', 'annealing', 'resnet') THEN warmup
            WHEN rule = 'dlrm' THEN parameters['lr_decay_start_steps']
            WHEN rule = 'gnmt' THEN parameters['opt_learning_rate_remain_steps']
            WHEN rule = 'rnnt' THEN warmup + parameters['opt_lamb_learning_rate_hold_epochs'] * steps_of_epoch
        END, CASE WHEN logged_decay_start >= 0 THEN logged_decay_start END) AS steps_of_start,
        coalesce(CASE
            WHEN parameters['schedule_end'] >= 1 THEN parameters['schedule_end']
            WHEN trainer IN (
                'linear', 'polynomial', 'cosine', 'cosine_with_restarts', 'cosine_with_min_lr', 'cosine_warmup_with_min_lr',
                'warmup_stable_decay'
            ) THEN end_of_trainer
            WHEN rule = 'shallue' THEN parameters['learning_rate_decay_steps']
            WHEN rule IN ('bert', 'planned') THEN parameters['opt_learning_rate_training_steps']
            WHEN rule = 'dlrm' THEN parameters['lr_decay_start_steps'] + parameters['sgd_opt_learning_rate_decay_steps']
            WHEN rule = 'gnmt' THEN parameters['opt_learning_rate_remain_steps']
                + (parameters['opt_learning_rate_decay_steps'] - 1) * parameters['opt_learning_rate_decay_interval']
            WHEN rule = 'llm' THEN parameters['opt_learning_rate_warmup_steps']
                + parameters['opt_learning_rate_decay_steps'] - coalesce(parameters['init_checkpoint_step'], 0)
            WHEN rule = 'resnet' AND decay_of_resnet < 10 * steps_of_epoch THEN decay_of_resnet * steps_of_epoch
        END, CASE WHEN logged_schedule_end >= 1 THEN logged_schedule_end END) AS steps_of_end,
        CASE
            WHEN coalesce(stated, '') <> '' OR parameters['decay_start'] >= 0 OR parameters['schedule_end'] >= 1 THEN 'stated'
            WHEN trainer IS NOT NULL OR rule IS NOT NULL THEN 'hyperparameters'
            WHEN logged_decay_start >= 0 OR logged_schedule_end >= 1 THEN 'curve'
        END AS schedule_source
    FROM (
        SELECT
            *,
            coalesce(CASE
                WHEN parameters['warmup_end'] >= 0 THEN parameters['warmup_end']
                WHEN trainer IS NOT NULL AND parameters['warmup_steps'] > 0 THEN parameters['warmup_steps']
                WHEN trainer IS NOT NULL AND parameters['warmup_ratio'] > 0 THEN parameters['warmup_ratio'] * end_of_trainer
                WHEN trainer IS NOT NULL AND (parameters['warmup_steps'] = 0 OR parameters['warmup_ratio'] = 0) THEN 0
                WHEN rule = 'bert'
                THEN greatest(parameters['num_warmup_steps'] + coalesce(parameters['start_warmup_step'], 0), 0)
                WHEN rule = 'llm' THEN greatest(
                    parameters['opt_learning_rate_warmup_steps'] - coalesce(parameters['init_checkpoint_step'], 0), 0
                )
                WHEN rule = 'annealing' THEN parameters['scheduler_lr_warmup_steps']
                WHEN rule = 'dlrm' THEN parameters['opt_learning_rate_warmup_steps']
                WHEN rule = 'gnmt' THEN parameters['opt_learning_rate_warmup_steps']
                WHEN rule = 'rnnt' THEN parameters['opt_learning_rate_warmup_epochs'] * steps_of_epoch
                WHEN rule = 'resnet' THEN coalesce(
                    parameters['lars_opt_learning_rate_warmup_epochs'], parameters['opt_learning_rate_warmup_epochs']
                ) * steps_of_epoch
            END, CASE WHEN logged_warmup_end >= 0 THEN logged_warmup_end END) AS warmup
        FROM (
            SELECT
                *,
                trim(BOTH '"' FROM attributes['schedule']) AS stated,
                nullif(
                    replace(lower(trim(BOTH '"' FROM attributes['lr_scheduler_type'])), 'schedulertype.', ''), 'null'
                ) AS trainer,
                TRY_CAST(attributes['logged_warmup_end'] AS DOUBLE) AS logged_warmup_end,
                TRY_CAST(attributes['logged_decay_start'] AS DOUBLE) AS logged_decay_start,
                TRY_CAST(attributes['logged_schedule_end'] AS DOUBLE) AS logged_schedule_end,
                CASE WHEN parameters['max_steps'] >= 1 THEN parameters['max_steps'] END AS end_of_trainer,
                coalesce(
                    parameters['lars_opt_learning_rate_decay_steps'], parameters['sgd_opt_learning_rate_decay_steps'],
                    parameters['opt_learning_rate_decay_steps']
                ) AS decay_of_resnet,
                CASE WHEN batch_size > 0 THEN (
$examples_per_epoch
                ) / batch_size END AS steps_of_epoch,
                CASE
                    WHEN attributes['lr_scheduler_type'] IS NOT NULL THEN NULL
                    WHEN parameters['learning_rate_decay_steps'] >= 1 AND parameters['end_learning_rate_factor'] >= 0 THEN 'shallue'
                    WHEN parameters['num_warmup_steps'] >= 0 AND parameters['opt_learning_rate_training_steps'] >= 1 THEN 'bert'
                    WHEN parameters['lr_decay_start_steps'] >= 0 AND parameters['sgd_opt_learning_rate_decay_steps'] >= 1
                    THEN 'dlrm'
                    WHEN parameters['opt_lamb_learning_rate_hold_epochs'] >= 0 THEN 'rnnt'
                    WHEN parameters['opt_learning_rate_remain_steps'] >= 0 THEN 'gnmt'
                    WHEN attributes['opt_learning_rate_decay_schedule'] = '"cosine with linear warmup"' THEN 'llm'
                    WHEN attributes['scheduler_type'] = '"cosine_annealing"' THEN 'annealing'
                    WHEN attributes['scheduler_type'] = '"multistep"' THEN 'multistep'
                    WHEN coalesce(
                        parameters['lars_opt_learning_rate_decay_poly_power'],
                        parameters['sgd_opt_learning_rate_decay_poly_power'],
                        parameters['opt_learning_rate_decay_poly_power']
                    ) = 2 THEN 'resnet'
                    WHEN attributes['opt_learning_rate_decay_schedule'] = '"constant"'
                        OR parameters['opt_learning_rate_decay_factor'] = 1
                        OR parameters['opt_adagrad_learning_rate_decay'] = 0 AND parameters['opt_learning_rate_decay_steps'] = 0
                    THEN 'constant'
                    WHEN parameters['opt_learning_rate_training_steps'] >= 1 THEN 'planned'
                END AS rule
            FROM base.trials
        )
    )
)
