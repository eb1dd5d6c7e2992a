// The curves of the viewer and the facts of their trials, from the answers of REST.

import { answerOf, everyRow } from "../answers.js";
import { numberOf } from "../values.js";

// Trials that one address names.
const MOST_NAMED = 100;
const MOST_STUDIES = 20;
// As in losslake/questions/curves.py: thinning keeps the extremes and the ends of each column of steps.
const POINTS_IN_A_COLUMN = 4;

/** Outcomes of trials of which it isn't known whether they reach the target. */
export const UNKNOWN = { flagged: "flagged", stopped: "not known: stopped at an easier goal" };

/**
 * Fetches the curves.
 * @param {object} request what the page asks for
 * @param {boolean} isLog whether steps are thinned for a logarithmic axis
 * @returns {Promise<{curves: object[], facts: Map<string, Map<string, unknown>>, steps: Map<string, object>, isThinned: boolean}>}
 *   facts: by name and trial, beginning with the one that colours show by default; steps: rows of steps to the target;
 *   isThinned: whether a curve may have had more evaluations
 */
export async function loadCurves(request, isLog) {
  const [trials, steps] = await Promise.all([trialsOf(request), stepsOf(request)]);
  const shown = new Set(request.studies.flatMap(({ study, trials: some }) => some?.map((id) => `${study}/${id}`) ?? []));
  const whole = new Set(request.studies.filter((each) => !each.trials).map((each) => each.study));
  const rows = trials.filter(({ trial }) => shown.has(trial) || whole.has(trial.slice(0, trial.lastIndexOf("/"))));
  // Evaluations of any metric: those of this one may be fewer.
  const mayBeMany = rows.reduce((sum, row) => sum + row.n_evaluations, 0) > request.mostEvaluations;
  const thinned = mayBeMany ? { points: request.points, axis: isLog ? "log" : "linear" } : {};
  const answers = await Promise.all(places(request).map((place) => rowsOf("curves", { ...place, metric: request.metric, ...thinned, release: request.release })));
  const curves = answers.flatMap(curvesOf);
  const isThinned = mayBeMany && mayBeCut(curves, rows, request.points, isLog);
  return { curves, facts: factsOf(rows, steps, request), steps, isThinned };
}

/** Returns whether thinned curves may lack evaluations: some trial has more, and its curve has two in the width of a column. */
function mayBeCut(curves, rows, points, isLog) {
  const counts = new Map(rows.map((row) => [row.trial, row.n_evaluations]));
  const place = (step) => (isLog ? Math.log(Math.max(step, 1)) : step);
  const ends = new Map();
  for (const { study, steps } of curves) {
    const [first, last] = ends.get(study) ?? [Infinity, -Infinity];
    ends.set(study, [Math.min(first, place(steps[0])), Math.max(last, place(steps.at(-1)))]);
  }
  return curves.some(({ trial, study, steps }) => {
    const [first, last] = ends.get(study);
    const width = (last - first) / Math.max(1, Math.floor(points / POINTS_IN_A_COLUMN));
    return steps.length < counts.get(trial) && steps.some((step, at) => at > 0 && place(step) - place(steps[at - 1]) <= width);
  });
}

/** Returns the parameters of each question about curves: whole studies, or some of the trials of one. */
function places(request) {
  const names = [];
  const wholes = request.studies.filter((each) => !each.trials).map((each) => each.study);
  for (let at = 0; at < wholes.length; at += MOST_STUDIES) names.push({ study: wholes.slice(at, at + MOST_STUDIES) });
  for (const { study, trials } of request.studies) {
    for (let at = 0; at < (trials?.length ?? 0); at += MOST_NAMED) {
      names.push({ trial: trials.slice(at, at + MOST_NAMED).map((id) => `${study}/${id}`) });
    }
  }
  return names;
}

function curvesOf(rows) {
  const curves = [];
  let begin = 0;
  for (let end = 1; end <= rows.length; end++) {
    const [first, next] = [rows[begin], rows[end]];
    if (next && next.trial_id === first.trial_id && next.batch_size === first.batch_size && next.workload === first.workload) continue;
    const part = rows.slice(begin, end);
    const study = `${first.workload}/${first.batch_size}`;
    const steps = Float64Array.from(part, (row) => row.step);
    const values = Float64Array.from(part, (row) => numberOf(row.value) ?? NaN);
    curves.push({ study, trial: `${study}/${first.trial_id}`, trialId: first.trial_id, batchSize: first.batch_size, steps, values });
    begin = end;
  }
  return curves;
}

async function trialsOf(request) {
  const studies = request.studies.map((each) => each.study);
  const fields = "trial,batch_size,status,n_evaluations,parameters,attributes";
  const places = [];
  for (let at = 0; at < studies.length; at += MOST_STUDIES) places.push(studies.slice(at, at + MOST_STUDIES));
  return (await Promise.all(places.map((study) => everyRow("trials", { study, fields, release: request.release })))).flat();
}

/** Returns the rows of steps to the target by trial; none without a goal. */
async function stepsOf({ studies, metric, goal, statuses, release }) {
  if (!goal) return new Map();
  const sizes = new Map();
  for (const { study, batchSize } of studies) {
    const workload = study.slice(0, study.lastIndexOf("/"));
    sizes.set(workload, [...(sizes.get(workload) ?? []), batchSize]);
  }
  const { target, comparator, direction } = goal;
  const answers = await Promise.all([...sizes].map(([workload, batch_size]) =>
    rowsOf("steps-to-target", { workload, batch_size, metric, target, comparator, direction, status: Object.keys(statuses), release })));
  return new Map(answers.flat().map((row) => [`${row.workload}/${row.batch_size}/${row.trial_id}`, row]));
}

// The statuses of trials that ran to their end.
const ENDED = ["COMPLETE", "MISSED"];

/** Returns every fact that differs between trials, by its name and trial. */
function factsOf(rows, steps, { goal, statuses }) {
  const facts = new Map();
  const add = (name, trial, value) => {
    if (!facts.has(name)) facts.set(name, new Map());
    facts.get(name).set(trial, value);
  };
  for (const { trial, batch_size, status, parameters, attributes } of rows) {
    const row = steps.get(trial);
    const reached = row?.steps ?? null;
    if (goal) add("outcome", trial, ENDED.includes(status) ? outcomeOf(row) : statuses[status]);
    else add("status", trial, statuses[status]);
    if (reached !== null) add("steps to target", trial, reached);
    add("batch size", trial, batch_size);
    for (const [name, value] of Object.entries(parameters)) add(name, trial, numberOf(value));
    for (const [name, value] of Object.entries(attributes)) if (!facts.get(name)?.has(trial)) add(name, trial, typeof value === "string" ? value : JSON.stringify(value));
  }
  const first = facts.keys().next().value;
  return new Map([...facts].filter(([name, values]) => name === first || new Set(values.values()).size > 1 || values.size < rows.length));
}

/** Returns whether a trial that ran to its end reached the target, in words. row: none of a flagged trial */
function outcomeOf(row) {
  if (!row) return UNKNOWN.flagged;
  if (row.steps !== null) return "reached";
  return row.stopped_earlier ? UNKNOWN.stopped : "not reached";
}

async function rowsOf(question, parameters) {
  return (await answerOf(question, parameters)).rows;
}
