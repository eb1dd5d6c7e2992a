-- Measurements of the metrics that are asked for, clustered by their key, so that a curve is one range of it.
CREATE TABLE studies (
    study_id INTEGER PRIMARY KEY, workload TEXT NOT NULL, batch_size INTEGER NOT NULL, UNIQUE (workload, batch_size)
);
CREATE TABLE metrics (metric_id INTEGER PRIMARY KEY, metric TEXT NOT NULL UNIQUE);
CREATE TABLE complete (study_id INTEGER, trial_id INTEGER, PRIMARY KEY (study_id, trial_id)) WITHOUT ROWID;
CREATE TABLE measurements (
    study_id INTEGER, metric_id INTEGER, trial_id INTEGER, step INTEGER, value REAL,
    PRIMARY KEY (study_id, metric_id, trial_id, step)
) WITHOUT ROWID;
