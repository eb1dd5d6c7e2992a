// The curves of the viewer and the facts of their trials, from the answers of REST.

import { answerOf, everyRow } from "../answers.js";
import { numberOf } from "../values.js";
import { extent, rollup } from "../vendor/d3.js";

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
 * @returns {Promise<{curves: object[], facts: Map<string, Map<string, unknown>>, isThinned: boolean}>}
 *   facts: by name and trial, beginning with the one that colours show by default;
 *   isThinned: whether a curve may have had more evaluations
 */
export async function loadCurves(request, isLog) {
  const [trials, steps] = await Promise.all([trialsOf(request), stepsOf(request)]);
  const { wholes, named } = partsOf(request);
  const [shownStudies, shownTrials] = [new Set(wholes), new Set(named.flat())];
  const rows = trials.filter(({ trial }) => shownTrials.has(trial) || shownStudies.has(parentOf(trial)));
  // Evaluations of any metric: those of this one may be fewer.
  const mayBeMany = rows.reduce((sum, row) => sum + row.n_evaluations, 0) > request.mostEvaluations;
  const thinned = mayBeMany ? { points: request.points, axis: isLog ? "log" : "linear" } : {};
  const places = [
    ...chunks(wholes, MOST_STUDIES).map((study) => ({ study })),
    ...named.flatMap((each) => chunks(each, MOST_NAMED)).map((trial) => ({ trial })),
  ];
  const { metric, release } = request;
  const answers = await Promise.all(places.map((place) => rowsOf("curves", { ...place, metric, ...thinned, release })));
  const curves = answers.flatMap(curvesOf);
  const isThinned = mayBeMany && mayBeCut(curves, rows, request.points, isLog);
  return { curves, facts: factsOf(rows, steps, request), isThinned };
}

/** Returns the studies that are shown whole, and the trials that are shown of each other one. */
function partsOf({ studies }) {
  const wholes = studies.filter(({ trials }) => !trials).map(({ study }) => study);
  const named = studies.filter(({ trials }) => trials).map(({ study, trials }) => trials.map((id) => `${study}/${id}`));
  return { wholes, named };
}

/** Returns whether curves may lack evaluations: some trial has more, and its curve has two in the width of a column. */
function mayBeCut(curves, rows, points, isLog) {
  const counts = new Map(rows.map((row) => [row.trial, row.n_evaluations]));
  const place = (step) => (isLog ? Math.log(Math.max(step, 1)) : step);
  const endsOf = (some) => extent(some.flatMap(({ steps }) => [place(steps[0]), place(steps.at(-1))]));
  const ends = rollup(curves, endsOf, ({ study }) => study);
  return curves.some(({ trial, study, steps }) => {
    const [first, last] = ends.get(study);
    const width = (last - first) / Math.max(1, Math.floor(points / POINTS_IN_A_COLUMN));
    const isClose = (step, at) => at > 0 && place(step) - place(steps[at - 1]) <= width;
    return steps.length < counts.get(trial) && steps.some(isClose);
  });
}

/** Returns a batch size as paths have it; null for one that changes. */
const nameOf = (batchSize) => batchSize ?? "scheduled";

/** Returns the curves of evaluations that come trial by trial. */
export function curvesOf(rows) {
  const curves = [];
  let begin = 0;
  for (let end = 1; end <= rows.length; end++) {
    const { workload, batch_size, trial_id } = rows[begin];
    const next = rows[end];
    if (next?.trial_id === trial_id && next.batch_size === batch_size && next.workload === workload) continue;
    const part = rows.slice(begin, end);
    const study = `${workload}/${nameOf(batch_size)}`;
    const steps = Float64Array.from(part, (row) => row.step);
    const values = Float64Array.from(part, (row) => numberOf(row.value) ?? NaN);
    curves.push({ study, trial: `${study}/${trial_id}`, trialId: trial_id, batchSize: batch_size, steps, values });
    begin = end;
  }
  return curves;
}

async function trialsOf({ studies, release }) {
  const fields = "trial,batch_size,status,n_evaluations,parameters,attributes";
  const parts = chunks(studies.map(({ study }) => study), MOST_STUDIES);
  return (await Promise.all(parts.map((study) => everyRow("trials", { study, fields, release })))).flat();
}

/** Returns the rows of steps to the target by trial; none without a goal. */
async function stepsOf({ studies, metric, goal, statuses, release }) {
  if (!goal) return new Map();
  const { target, comparator, direction } = goal;
  const about = { metric, target, comparator, direction, status: Object.keys(statuses), release };
  // Of trials that change their batch size, all of the workload are asked about.
  const sizesOf = (some) => (some.some(({ batchSize }) => batchSize === null) ? [] : some.map(({ batchSize }) => batchSize));
  const sizes = rollup(studies, sizesOf, ({ study }) => parentOf(study));
  const questions = [...sizes].map(([workload, batch_size]) => ({ workload, batch_size, ...about }));
  const rows = await Promise.all(questions.map((each) => rowsOf("steps-to-target", each)));
  return new Map(rows.flat().map((row) => [`${row.workload}/${nameOf(row.batch_size)}/${row.trial_id}`, row]));
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
    add("batch size", trial, batch_size ?? "changes");
    add("optimizer", trial, trial.split("/").at(-3));
    for (const [name, value] of Object.entries(parameters)) add(name, trial, numberOf(value));
    for (const [name, value] of Object.entries(attributes)) {
      if (!facts.get(name)?.has(trial)) add(name, trial, typeof value === "string" ? value : JSON.stringify(value));
    }
  }
  const [first] = facts.keys();
  const differs = (values) => new Set(values.values()).size > 1 || values.size < rows.length;
  return new Map([...facts].filter(([name, values]) => name === first || differs(values)));
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

/** Returns the name of a trial's study, or of a study's workload. */
function parentOf(name) {
  return name.slice(0, name.lastIndexOf("/"));
}

/** Returns a list in parts of at most a size. */
function chunks(list, size) {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, part) => list.slice(part * size, (part + 1) * size));
}
