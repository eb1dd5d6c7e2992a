-- One row per trial and other log of the same run: with equal bytes and facts, or with equal values and steps. The
-- facts are those that the other log states; an attribute collection says that it was read into another one. No rows where no
-- log was submitted again.
CREATE VIEW copies AS
SELECT * REPLACE (nullif(batch_size, 0) AS batch_size) FROM base.copies;
