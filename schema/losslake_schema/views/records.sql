-- One row per record: a measurement strictly better than every earlier one of the same trial and metric.
CREATE VIEW records AS
SELECT * FROM base.records;
