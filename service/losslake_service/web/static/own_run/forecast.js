// The forecast of a run from stored trials: the rule of losslake/analysis/forecast.py and neighbour_bands.py, which explain it.
// It is here a second time so that a run is never sent; a test holds both equal.

const MOST_TRIALS = 300;
const IMPROVEMENT_WEIGHT = 0.5;
const LEAST_NEIGHBOURS = 5;
const [LARGEST, MOST, ROUNDING, BAND_ROUNDING, NOTHING] = [1e150, 1.7e308, 1e-12, 1e-9, 1e-9];

/**
 * Returns the forecast for a run. Throws an error of one line where there can be none.
 * @param {object} comparable trials: each with steps and losses of its records, lastStep, group and isStopped; sign; bound; leastLoss (null for unknown)
 * @param {{steps: Float64Array, values: Float64Array}} curve
 * @param {number} level of the bands
 * @returns {{step: number, best: number, final: number[], median: number, place: string, reachedAt: number | null, target: object | null, trials: number}}
 */
export function forecast({ trials, sign, bound, leastLoss }, curve, level) {
  const records = recordsOf(curve, sign);
  const step = curve.steps.at(-1);
  if (!records.losses.length) throw new Error("No value of it is a number, so nothing is forecast.");
  const longest = Math.max(-1, ...trials.map(({ lastStep }) => lastStep));
  if (trials.length && step >= longest) throw new Error(`There is no forecast: no comparable trial goes on beyond step ${longest.toLocaleString("en")}.`);
  const going = trials.filter((trial) => trial.lastStep > step && Number.isFinite(lossAt(trial, step)));
  const compared = atMost(going, MOST_TRIALS);
  const needed = groupsNeeded(level);
  const settings = groupsOf(compared).size;
  if (settings < needed) throw new Error(`There is no forecast: ${settings} comparable settings went on beyond step ${step.toLocaleString("en")}, and it needs ${needed}.`);
  const loss = records.losses.at(-1);
  const scale = scaleOf(compared, records, leastLoss ?? -Infinity);
  const levels = compared.map((trial) => lossAt(trial, step));
  const now = levels.map(scale.of);
  const around = neighbourhood(compared, records, step, scale, now);
  const changes = compared.map((trial, index) => now[index] - scale.of(trial.losses.at(-1)));
  const final = band(around, changes, level).map((change) => sign * scale.after(loss, change)).sort((one, other) => one - other);
  const first = records.losses.findIndex((each) => each < bound);
  const reachedAt = first < 0 ? null : records.steps[first];
  return {
    step,
    best: sign * loss,
    final,
    median: sign * scale.after(loss, middleOf(around.nearest.map((index) => changes[index]))),
    place: loss < Math.min(...levels) ? "better than all" : loss > Math.max(...levels) ? "worse than all" : "within",
    reachedAt,
    target: reachedAt === null ? targetOf(compared, records, step, scale, bound, level) : null,
    trials: compared.length,
  };
}

/** Returns the band for the step of the target, Infinity for not reached; null where too few trials say it. */
function targetOf(trials, records, step, scale, bound, level) {
  const open = trials.filter((trial) => targetStep(trial, bound) > step && !trial.isStopped);
  if (groupsOf(open).size < groupsNeeded(level)) return null;
  const reached = open.map((trial) => targetStep(trial, bound));
  const around = neighbourhood(open, records, step, scale, open.map((trial) => scale.of(lossAt(trial, step))));
  const waits = reached.map((each) => Math.log1p(each) - Math.log1p(step));
  const longest = reached.every(Number.isFinite) ? Infinity : Math.max(...open.map(({ lastStep }) => lastStep));
  const [first, last] = band(around, waits, level).map((wait) => (wait === Infinity ? Infinity : (1 + step) * Math.exp(Math.max(wait, 0)) - 1));
  const lower = first === Infinity ? first : Math.max(step + 1, Math.floor(Math.min(first * (1 + ROUNDING), longest)));
  const upper = last * (1 - ROUNDING) <= longest ? Math.ceil(last * (1 - ROUNDING)) : Infinity;
  return { steps: [lower, Math.max(lower, upper)], alike: around.nearest.length, reached: around.nearest.filter((index) => Number.isFinite(reached[index])).length };
}

function recordsOf({ steps, values }, sign) {
  const records = { steps: [], losses: [] };
  values.forEach((value, index) => {
    const loss = Number.isFinite(value) ? value * sign : Infinity;
    if (loss >= (records.losses.at(-1) ?? Infinity)) return;
    records.steps.push(steps[index]);
    records.losses.push(loss);
  });
  return records;
}

/** Returns the best loss up to a step; Infinity for none. */
function lossAt({ steps, losses }, step) {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return low ? losses[low - 1] : Infinity;
}

function targetStep({ steps, losses }, bound) {
  const index = losses.findIndex((loss) => loss < bound);
  return index < 0 ? Infinity : steps[index];
}

/** Returns the number of trials by group. */
function groupsOf(trials) {
  const sizes = new Map();
  for (const { group } of trials) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  return sizes;
}

/** Returns about this many trials: the first ones of each group, equally many. */
function atMost(trials, most) {
  if (trials.length <= most) return trials;
  const sizes = [...groupsOf(trials).values()];
  let each = 1;
  while (sizes.reduce((sum, size) => sum + Math.min(size, each + 1), 0) <= most) each += 1;
  const taken = new Map();
  const isTaken = ({ group }) => {
    taken.set(group, (taken.get(group) ?? 0) + 1);
    return taken.get(group) <= each;
  };
  return trials.filter(isTaken).slice(0, most);
}

/** Returns the scale on which changes of losses are compared: of a loss, and the loss after an improvement. */
function scaleOf(trials, records, known) {
  const losses = [...trials.flatMap((trial) => trial.losses), ...records.losses];
  const least = !Number.isFinite(known) && losses.every((loss) => loss > 0) ? 0 : known;
  const distances = losses.map((loss) => loss - least);
  let smallest = Infinity;
  for (const distance of distances) if (distance > 0 && distance < smallest) smallest = distance;
  if (!Number.isFinite(least) || distances.some((distance) => distance < 0) || smallest === Infinity) {
    const largest = losses.reduce((most, loss) => Math.max(most, Math.abs(loss)), 0);
    const unit = largest > LARGEST ? largest : 1;
    return { of: (loss) => loss / unit, after: (loss, change) => (change <= 0 ? loss : Math.max(loss - Math.min(change * unit, MOST), -MOST)) };
  }
  const floor = smallest / 2;
  const after = (loss, change) => {
    if (change <= 0) return loss;
    const distance = Math.max(loss - least, floor) * Math.exp(-change);
    return distance <= floor ? least : Math.min(loss, least + distance);
  };
  return { of: (loss) => Math.log(Math.max(loss - least, floor)), after };
}

/** Returns the trials nearest to the run, and to each trial, by value now and by improvement since half of the steps. */
function neighbourhood(trials, records, step, scale, now) {
  const ofRun = scale.of(records.losses.at(-1));
  const spread = spreadOf(now);
  const features = [now.map((each) => each / spread)];
  const ofNew = [ofRun / spread];
  const improvements = trials.map((trial, index) => scale.of(lossAt(trial, step / 2)) - now[index]);
  const half = lossAt(records, step / 2);
  const known = improvements.filter(Number.isFinite);
  if (Number.isFinite(half) && known.length) {
    const most = Math.max(...known);
    const filled = improvements.map((each) => (Number.isFinite(each) ? each : most));
    const its = spreadOf(filled);
    features.push(filled.map((each) => (each / its) * IMPROVEMENT_WEIGHT));
    ofNew.push(((scale.of(half) - ofRun) / its) * IMPROVEMENT_WEIGHT);
  }
  const groups = trials.map(({ group }) => group);
  const sizes = groupsOf(trials);
  const count = Math.min(Math.max(LEAST_NEIGHBOURS, Math.round(Math.sqrt(trials.length))), trials.length - Math.max(...sizes.values()));
  const nearestTo = (point, isLeftOut) => {
    const distances = trials.map((_, index) => (isLeftOut(index) ? Infinity : features.reduce((sum, feature, place) => sum + Math.abs(feature[index] - point[place]), 0)));
    return ascending(distances).slice(0, count);
  };
  return {
    groups,
    sizes,
    nearest: nearestTo(ofNew, () => false),
    ofEach: trials.map((_, at) => nearestTo(features.map((feature) => feature[at]), (index) => groups[index] === groups[at])),
  };
}

/** Returns the ends of the band of a level for outcomes, by trial; Infinity for one that is later than any. */
function band({ groups, sizes, nearest, ofEach }, outcomes, level) {
  const tail = (1 - level) / 2;
  const ofKnown = ofEach.map((those) => tailsOf(those.map((index) => outcomes[index]), tail));
  const below = ofKnown.map(([lower], index) => (outcomes[index] === Infinity ? 0 : excess(lower, outcomes[index])));
  const above = ofKnown.map(([, upper], index) => (Math.abs(upper) === Infinity ? 0 : excess(outcomes[index], upper)));
  const [byBelow, byAbove] = [below, above].map((scores) => pooledQuantile(scores, groups, sizes, tail));
  const [first, last] = tailsOf(nearest.map((index) => outcomes[index]), tail);
  const lower = byBelow === Infinity ? -Infinity : first - byBelow;
  return [lower, Math.max(last + byAbove, lower)];
}

function tailsOf(outcomes, tail) {
  const ordered = Float64Array.from(outcomes).sort();
  const last = ordered.length - 1;
  return [ordered[Math.floor(last * tail + BAND_ROUNDING)], ordered[Math.ceil(last * (1 - tail) - BAND_ROUNDING)]];
}

function excess(larger, smaller) {
  return Math.abs(larger) === Infinity && Math.abs(smaller) === Infinity ? 0 : larger - smaller;
}

/** Returns the least score that one of a new group exceeds with a probability of at most `tail`; groups count equally. */
function pooledQuantile(scores, groups, sizes, tail) {
  const needed = (1 - tail) * (sizes.size + 1) - BAND_ROUNDING;
  let reached = 0;
  for (const index of ascending(scores)) {
    reached += 1 / sizes.get(groups[index]);
    if (reached >= needed) return scores[index];
  }
  return Infinity;
}

function groupsNeeded(level) {
  return Math.ceil(2 / (1 - level) - 1 - BAND_ROUNDING);
}

/** Returns the interquartile range; the range where that is next to nothing of it; 1 if all are equal. */
function spreadOf(values) {
  const ordered = Float64Array.from(values).sort();
  const between = quantile(ordered, 0.75) - quantile(ordered, 0.25);
  const whole = ordered.at(-1) - ordered[0];
  return (between > NOTHING * whole ? between : whole) || 1;
}

function quantile(ordered, share) {
  const place = (ordered.length - 1) * share;
  const [low, high] = [ordered[Math.floor(place)], ordered[Math.ceil(place)]];
  const part = place - Math.floor(place);
  return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

function middleOf(values) {
  const ordered = Float64Array.from(values).sort();
  const half = ordered.length >> 1;
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}

/** Returns the indices of numbers in ascending order, ties to the first. */
function ascending(numbers) {
  return [...numbers.keys()].sort((one, other) => (numbers[one] < numbers[other] ? -1 : numbers[one] > numbers[other] ? 1 : 0));
}
