-- The number of examples (in the batch unit) in the first $steps updates of a trial with these attributes: steps times batch size,
-- or, if the batch size is 0 for one that changes, the sum over the pieces of its batch_schedule, a list of [from_step, batch_size].
-- Null beyond 64 bits. Part of the text of views and macros.
CASE
    WHEN $size > 0 THEN CASE WHEN $steps <= 9223372036854775807 // $size THEN $steps * $size END
    WHEN $steps IS NOT NULL THEN TRY_CAST(list_sum(list_transform(
        range(1, len(CAST($attributes['batch_schedule'] AS BIGINT[][])) + 1),
        lambda place: CAST(greatest(0, least(
            $steps, coalesce(CAST($attributes['batch_schedule'] AS BIGINT[][])[place + 1][1], $steps)
        ) - CAST($attributes['batch_schedule'] AS BIGINT[][])[place][1]) AS HUGEINT)
            * CAST($attributes['batch_schedule'] AS BIGINT[][])[place][2]
    )) AS BIGINT)
END
