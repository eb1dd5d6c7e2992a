-- One row per trial: one training run, with its metaparameters and status.
CREATE VIEW trials AS
SELECT * FROM base.trials;
