-- One row per trial whose steps are computed from a logged position, if one of its units, an epoch, has less than half of the
-- usual (median) number of examples for the dataset and model in collections of the same first name: its log has epochs of another size.
CREATE TEMP TABLE small_epochs AS
WITH placed AS (
    SELECT
        collection, dataset, model, optimizer, batch_size, trial_id, split_part(collection, '/', 1) AS family,
        regexp_extract(attributes['step'], '^"([^;]*) x ([0-9.]+) / [0-9.]+"$', ['position', 'examples']) AS formula
    FROM base.trials
),
sized AS (
    SELECT * EXCLUDE (formula), formula.position AS position, TRY_CAST(formula.examples AS DOUBLE) AS examples FROM placed
),
compared AS (
    SELECT *, median(examples) OVER same / 2 AS least_examples, count(*) OVER same AS n
    FROM sized
    WHERE examples IS NOT NULL
    WINDOW same AS (PARTITION BY family, dataset, model, position)
)
SELECT collection, dataset, model, optimizer, batch_size, trial_id, examples, least_examples
FROM compared
WHERE n >= 10 AND examples < least_examples;
