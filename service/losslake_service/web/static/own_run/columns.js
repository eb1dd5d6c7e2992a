// Which columns of a reader's table hold the steps, a metric, the batch size and the time, by their names.

import { numberIn } from "./table.js";

const STEPS = ["step", "steps", "global_step", "iteration", "iterations", "iter", "update", "updates", "num_updates", "trainer_global_step"];
const TIMES = ["elapsed_s", "wall_time", "elapsed_seconds", "relative_time", "runtime", "timestamp"];
// The words of losslake_ingest/mapping/names.toml and losslake/record/data/words.toml.
export const WORDS = {
  splits: {
    train: ["train", "training", "tr", "trn"],
    val: ["val", "valid", "validation", "eval", "dev", "evaluation"],
    test: ["test", "tst"],
  },
  quantities: {
    cross_entropy_error: ["cross_entropy", "crossentropy", "xent", "ce", "nll", "cross_entropy_error"],
    classification_error: ["classification_error", "err", "error", "top1_error"],
    accuracy: ["accuracy", "acc", "acc1", "acc_1", "top1", "top_1"],
    perplexity: ["perplexity", "ppl"],
    word_error_rate: ["wer", "word_error_rate"],
    mean_average_precision: ["map", "mean_average_precision"],
    average_precision: ["average_precision", "ap"],
    bleu: ["bleu"],
    ssim: ["ssim"],
    loss: ["loss", "total_loss", "objective"],
    grad_norm: ["grad_norm", "gradient_norm", "total_grad_norm", "global_grad_norm", "total_norm", "gnorm"],
    noise_scale: ["noise_scale", "grad_noise_scale", "gradient_noise_scale", "simple_noise_scale", "gns"],
  },
  facts: {
    of_run: ["global_batch_size", "total_batch_size", "effective_batch_size", "total_train_batch_size", "global_train_batch_size", "ims_per_batch", "tokens_per_iteration", "tokens_per_iter"],
    of_process: ["per_device_train_batch_size", "per_gpu_train_batch_size", "per_device_batch_size", "per_gpu_batch_size", "train_micro_batch_size_per_gpu", "micro_batch_size", "micro_batch", "device_batch_size", "local_batch_size", "batch_size_per_gpu", "batch_size_per_device", "samples_per_gpu", "train_batch_size"],
    of_run_or_process: ["batch_size", "bs", "batchsize", "batch"],
  },
  study: {
    dataset: ["dataset", "data", "dataset_name", "data_set", "task"],
    model: ["model", "arch", "architecture", "model_name", "net", "backbone"],
    optimizer: ["optimizer", "optim", "opt", "opt_name", "optimizer_name", "optimizer_type"],
  },
};
// What a column holds after these words is a statistic of a metric, not its value at a step.
const STATISTICS = new Set(["best", "min", "max", "ema", "mean", "median", "std", "avg", "lowest", "highest", "smoothed"]);
// Names that say nothing of what was measured, such as TensorBoard's.
const GENERIC = new Set(["value", "values"]);

/** Returns a name in lower case, with anything but letters and digits as _. */
export function plain(name) {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "");
}

/**
 * Guesses which columns hold the steps and a metric; undefined where that isn't clear.
 * @param {{names: string[], rows: object[]}} table
 * @param {string} metric
 * @param {string[]} taken columns that hold other metrics
 * @returns {{step: string | undefined, value: string | undefined, isNamed: boolean}} isNamed: whether the column has the split and quantity
 */
export function guessed(table, metric, taken = []) {
  const isUnnamed = table.names.length === 2 && table.names.every((name, index) => name === `column ${index + 1}`);
  const step = isUnnamed ? table.names[0] : stepIn(table);
  const others = table.names.filter((name) => name !== step && !STEPS.includes(plain(name)));
  const free = others.filter((name) => !taken.includes(name) && (isUnnamed || GENERIC.has(plain(name))));
  const byName = named(others, metric);
  return { step, value: byName ?? unsplit(others, metric, taken) ?? only(free), isNamed: byName !== undefined };
}

/** Returns the first column with a name of steps; undefined if another one differs from it in any row. */
function stepIn({ names, rows }) {
  const matching = STEPS.flatMap((each) => names.flatMap((name, place) => (plain(name) === each ? [place] : [])));
  const [first, ...others] = matching.filter((place) => rows.some(({ cells }) => cells[place]));
  const areSame = rows.every(({ cells }) => others.every((place) => isSame(cells[place], cells[first])));
  return areSame ? names[first] : undefined;
}

function isSame(one, other) {
  return one === other || (numberIn(one) !== undefined && numberIn(one) === numberIn(other));
}

/** Returns the column whose name has the split and the quantity of a metric. */
function named(names, metric) {
  const [split, quantity] = metric.split("/");
  const aliases = (WORDS.splits[split] ?? [split]).flatMap((word) => wordsOf(quantity).map((each) => plain(`${word}/${each}`)));
  const ways = [
    (name) => name === metric,
    (name) => plain(name) === plain(metric),
    (name) => aliases.includes(plain(name)),
    (name) => isPrefixed(name, [plain(metric), ...aliases]),
  ];
  return only(ways.map((way) => names.filter(way)).find((matching) => matching.length) ?? []);
}

function wordsOf(quantity) {
  return WORDS.quantities[quantity] ?? [quantity];
}

/** Returns true for names such as "my run - val/loss" and "metrics.val/loss", and false for "best/val/loss". */
function isPrefixed(name, wanted) {
  return [...name.matchAll(/ - |[./:]/g)].some(({ index, 0: separator }) => {
    const lastWord = plain(name.slice(0, index)).split("_").at(-1);
    return wanted.includes(plain(name.slice(index + separator.length))) && !STATISTICS.has(lastWord);
  });
}

/** Returns the column named by a metric's quantity alone, if no other one may be of this quantity. */
function unsplit(names, metric, taken) {
  const words = wordsOf(metric.split("/")[1]).map(plain);
  const one = only(names.filter((name) => words.some((word) => `_${plain(name)}`.endsWith(`_${word}`))));
  return one !== undefined && words.includes(plain(one)) && !taken.includes(one) ? one : undefined;
}

function only(list) {
  return list.length === 1 ? list[0] : undefined;
}

/** Returns the batch sizes that a table states, ascending. */
export function batchSizesIn(table) {
  const { of_run: ofRun, of_run_or_process: either } = WORDS.facts;
  return stated(table, ofRun) ?? stated(table, either) ?? [];
}

/** Returns what a table says of the batch of one device, in words; undefined if nothing. */
export function batchOfDevice(table) {
  const name = WORDS.facts.of_process.find((each) => stated(table, [each]));
  return name && `${name} ${stated(table, [name]).join(", ")}`;
}

/** Returns the numbers of the first of these names that a table has, ascending; undefined if it has none. */
function stated({ names, rows, facts = {} }, wanted) {
  const isWanted = (each) => (name) => plain(name) === each || plain(name.split(".").at(-1)) === each;
  for (const each of wanted) {
    const place = names.findIndex(isWanted(each));
    const fact = Object.keys(facts).find(isWanted(each));
    const cells = place >= 0 ? rows.map(({ cells }) => cells[place] ?? "") : fact === undefined ? [] : [facts[fact]];
    const numbers = new Set(cells.map(numberIn));
    const found = [...numbers].filter((number) => Number.isInteger(number) && number > 0).sort((one, other) => one - other);
    // A column batch mostly counts batches.
    if (found.length === 1 || (found.length && each !== "batch")) return found;
  }
  return undefined;
}

/** Returns the seconds per step, evaluations included, by a table's column of times; undefined if it has none. */
export function secondsPerStep({ names, rows }, step) {
  const place = TIMES.map((each) => names.findIndex((name) => plain(name) === each)).find((index) => index >= 0);
  const stepPlace = names.indexOf(step);
  const points = rows.map(({ cells }) => [numberIn(cells[stepPlace] ?? ""), numberIn(cells[place] ?? "")]).filter((point) => point.every(Number.isFinite));
  if (points.length < 2) return undefined;
  const [[fromStep, fromTime], [toStep, toTime]] = [points[0], points.at(-1)];
  const seconds = (toTime - fromTime) / (toStep - fromStep);
  return seconds > 0 && Number.isFinite(seconds) ? seconds : undefined;
}

/** Returns the words that may name the workload of a run: of its file, its facts, and the columns of a study. */
export function wordsIn(name, { names, rows, facts = {} }) {
  const wanted = Object.values(WORDS.study).flat();
  const ofFacts = Object.keys(facts).filter((fact) => wanted.includes(plain(fact.split(".").at(-1)))).map((fact) => facts[fact]);
  const ofColumns = names.flatMap((column, place) => (wanted.includes(plain(column)) ? [rows[0].cells[place]] : []));
  return [name.replace(/\.[a-z]{1,6}$/i, ""), ...ofFacts, ...ofColumns].join(" ").toLowerCase();
}
