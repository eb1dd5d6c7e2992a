-- One row per trial: the schedule of its learning rate, in steps (updates): where warm-up ends, where the rate begins to fall, and where it stops
-- falling; null for unknown, and where it never falls. schedule_source: stated (the facts schedule, warmup_end, decay_start,
-- schedule_end of a log or mapping), hyperparameters (derived from them), or curve (from logged learning rates).
CREATE VIEW trial_schedules AS
SELECT
    collection, dataset, model, optimizer, batch_size, trial_id, schedule, warmup_end, decay_start, schedule_end,
    last_step >= schedule_end AS is_finished, schedule_source
FROM (
$schedule_facts
)
