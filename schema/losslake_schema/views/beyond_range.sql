-- A branch of a CASE on the table $t: an error if the parameter target is beyond what a registered quantity can have. $metrics are its
-- metrics, $range says what the $first of them lies between. Part of the text of macros.
WHEN $t.metric = metric AND $t.metric IN ($metrics) AND NOT CAST(target AS DOUBLE) BETWEEN $lowest AND $highest THEN error(
    replace('$range', '$first', $t.metric) || CASE
        WHEN CAST(target AS DOUBLE) BETWEEN 1 AND 100 THEN ': did you mean ' || round(CAST(target AS DOUBLE) / 100, 8) || '?'
        ELSE ': give a target there, not ' || CAST(target AS DOUBLE)
    END
)
