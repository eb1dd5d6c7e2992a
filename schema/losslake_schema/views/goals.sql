-- One row per goal: a metric and the target that a workload has to beat.
CREATE VIEW goals AS
SELECT * FROM base.goals;
