// The words of the dialect that the editor highlights.

export const KEYWORDS = `all and any anti as asc asof at between by case cast collate cross cube describe desc distinct
else end escape except exclude exists explain false filter first following from full glob group grouping having ilike in
inner intersect interval is isnull join last lateral left like limit materialized natural not notnull null nulls offset
on or order outer over partition pivot positional preceding qualify range recursive replace right rollup row rows sample
select semi sets show similar summarize table tables tablesample then to true try_cast unbounded union unpivot using
values when where window with within`.replace(/\s+/g, " ");

export const TYPES = `bigint blob boolean date decimal double float hugeint integer interval list map real smallint struct
text time timestamp tinyint ubigint uinteger usmallint utinyint uuid varchar`.replace(/\s+/g, " ");

/** The keywords that the editor completes. */
export const COMPLETED = ["SELECT", "FROM", "WHERE", "GROUP BY", "GROUP BY ALL", "ORDER BY", "ORDER BY ALL", "LIMIT", "HAVING",
  "QUALIFY", "JOIN", "LEFT JOIN", "SEMI JOIN", "ANTI JOIN", "USING", "ON", "AS", "AND", "OR", "NOT", "IN", "IS NULL",
  "IS NOT NULL", "BETWEEN", "LIKE", "ILIKE", "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "DISTINCT ON", "FILTER", "OVER",
  "PARTITION BY", "WITH", "UNION ALL", "EXCLUDE", "DESC", "ASC", "NULLS LAST", "CAST", "DESCRIBE", "SUMMARIZE", "EXPLAIN",
  "SHOW TABLES"];
