-- The table base.schedules of a release whose trials have none of the facts of which its rules speak: no row.
CREATE TABLE base.schedules (study_id INTEGER, trial_id BIGINT, decay_start BIGINT, schedule_end BIGINT);
