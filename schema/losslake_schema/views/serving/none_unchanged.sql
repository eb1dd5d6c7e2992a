-- The table `unchanged` without an earlier release: no row.
CREATE TEMP TABLE unchanged (collection VARCHAR, dataset VARCHAR, model VARCHAR, optimizer VARCHAR);
