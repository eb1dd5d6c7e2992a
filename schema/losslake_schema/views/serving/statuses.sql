-- The number of trials that MISSED in base.studies, and the name of a schedule of batch sizes that all trials of a study share.
CREATE OR REPLACE TABLE base.studies AS
SELECT s.* REPLACE (s.n_incomplete - coalesce(m.n_missed, 0) AS n_incomplete), coalesce(m.n_missed, 0) AS n_missed,
    c.schedule
FROM base.studies AS s
LEFT JOIN (
    SELECT study_id, count(*) AS n_missed FROM base.trials WHERE status = 'MISSED' GROUP BY study_id
) AS m USING (study_id)
LEFT JOIN (
    SELECT study_id, CASE WHEN count(*) = count(name) AND min(name) = max(name) THEN min(name) END AS schedule
    FROM (
        SELECT study_id, CAST(attributes['batch_schedule_name'] AS JSON) ->> '$' AS name FROM base.trials WHERE batch_size = 0
    )
    GROUP BY study_id
) AS c USING (study_id)
ORDER BY s.study_id;
