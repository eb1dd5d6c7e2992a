-- One row per record: a measurement strictly better than every earlier one of the same trial and metric.
CREATE VIEW records AS
SELECT * REPLACE (nullif(batch_size, 0) AS batch_size) FROM base.records;
