// The exponential moving average of a curve, debiased as in Adam: its first value is the first evaluation.

/**
 * Returns the average at each evaluation; NaN and infinite values stay, and count in no average.
 * @param {Float64Array} values
 * @param {number} weight of earlier evaluations, 0 to below 1
 */
export function smoothed(values, weight) {
  let sum = 0;
  let share = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return value;
    sum = weight * sum + (1 - weight) * value;
    share = weight * share + (1 - weight);
    return sum / share;
  });
}
