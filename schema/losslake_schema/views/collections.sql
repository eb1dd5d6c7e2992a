-- One row per collection: where studies come from, with licence and citation.
CREATE VIEW collections AS
SELECT * FROM base.collections;
