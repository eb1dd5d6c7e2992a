-- One row per trial with other logs of the same run. also_submitted: these as JSON, each with the facts that differ from the trial's.
CREATE TABLE base.also_submitted AS
WITH copy AS (
    SELECT
        c.collection, c.dataset, c.model, c.optimizer, c.batch_size, c.trial_id, c.rowid AS place, c.source, c.source_sha256, c.status,
        c.steps,
        map_from_entries([
            {'key': e.key, 'value': CASE WHEN isfinite(e.value) THEN e.value END}
            FOR e IN map_entries(c.parameters) IF e.value IS DISTINCT FROM map_extract_value(t.parameters, e.key)
        ]) AS parameters,
        map_from_entries([
            {'key': e.key, 'value': CAST(e.value AS JSON)}
            FOR e IN map_entries(c.attributes) IF e.value IS DISTINCT FROM map_extract_value(t.attributes, e.key)
        ]) AS attributes
    FROM base.copies AS c
    JOIN base.trials AS t USING (collection, dataset, model, optimizer, batch_size, trial_id)
)
SELECT
    collection, dataset, model, optimizer, batch_size, trial_id,
    CAST(to_json(list({
        'source': source, 'source_sha256': source_sha256, 'status': status, 'steps': steps, 'parameters': parameters,
        'attributes': attributes
    } ORDER BY place)) AS VARCHAR) AS also_submitted
FROM copy
GROUP BY ALL;
