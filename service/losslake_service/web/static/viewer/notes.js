// The sentences below the picture: what is drawn, and what isn't.

import { counted, whole } from "../numbers.js";
import { tickText } from "./axes.js";
import { UNKNOWN } from "./curves.js";
import { from } from "./lines.js";

/**
 * Returns the sentences.
 * @param {object} loaded curves and facts
 * @param {object} request what the page asks for
 * @param {object} state the view of the address
 * @param {object} plot
 */
export function notesOf({ curves, facts, isThinned }, { goal, points }, state, plot) {
  const isLog = state.log.includes("y");
  const texts = [`${counted(curves.length, "curve")}${curves.length > 1 ? bestInWords(plot.panels) : ""}.`];
  if (isThinned) texts.push(`Thinned to about ${points} evaluations a curve; every record is kept.`);
  if (state.smooth) {
    const which = isThinned ? "the evaluations drawn, not of all" : "all evaluations";
    const what = `exponential moving average of ${which}, weight ${state.smooth}, debiased`;
    texts.push(`Smoothed: ${what}; the measured curves stay faint behind.`);
  }
  if (goal) texts.push(targetInWords(goal, isLog), ...unknownOutcomes(facts.get("outcome")));
  return [...texts, ...withoutPlace(plot.lines), ...beyondView(plot.whole, isLog)];
}

/** Says which curves are thick, and by which rule; empty if none is. */
function bestInWords(panels) {
  const best = panels.flatMap((panel) => panel.best ?? []);
  if (!best.length) return "";
  const isPlural = panels.length > 1;
  const nFirst = best.filter(({ isFirst }) => isFirst).length;
  const first = "the first to reach the target";
  const byValue = isPlural ? "those with the best value" : "the one with the best value";
  const rule = nFirst === best.length ? first : nFirst ? `${first}, or else ${byValue}` : byValue;
  if (!isPlural) return `; the thick one is the best trial, ${rule}`;
  const isAll = best.length === panels.length;
  const places = isAll ? "each batch size" : `${whole(best.length)} of ${whole(panels.length)} batch sizes`;
  return `; the thick ones are the best trials of ${places}, ${rule}`;
}

function targetInWords({ target, text, isProposed }, isLog) {
  const words = isProposed ? "a proposed target" : "the target";
  if (isLog && target <= 0) return `No line shows ${words}, ${text}: it has no place on a logarithmic axis.`;
  return `The dashed line is ${words}, ${text}.`;
}

/** Says of how many trials it isn't known whether they reach the target, and why. */
function unknownOutcomes(outcomes) {
  const count = (outcome) => [...outcomes.values()].filter((each) => each === outcome).length;
  const [nFlagged, nStopped] = [count(UNKNOWN.flagged), count(UNKNOWN.stopped)];
  const state = nFlagged === 1 ? "is flagged and counts" : "are flagged and count";
  const they = nStopped === 1 ? "it" : "they";
  return [
    nFlagged && `${counted(nFlagged, "trial")} ${state} for no target, as FROM flags in SQL explains.`,
    nStopped && `${counted(nStopped, "trial")} stopped at an easier goal: whether ${they} would reach this one isn't known.`,
  ].filter(Boolean);
}

/** Says how many evaluations aren't drawn, since they aren't finite, or have no place on an axis. */
function withoutPlace(lines) {
  let [nOdd, nUnplaced] = [0, 0];
  for (const { curve: { values }, x, raw } of lines) {
    values.forEach((value, at) => {
      const isOdd = !Number.isFinite(value);
      nOdd += isOdd;
      nUnplaced += Number.isNaN(x[at]) || (Number.isNaN(raw[at]) && !isOdd);
    });
  }
  return [
    nOdd && `${whole(nOdd)} evaluations are NaN or infinite, and break their lines.`,
    nUnplaced && `${whole(nUnplaced)} evaluations at step 0, or with values of zero or below, have no place on a logarithmic axis.`,
  ].filter(Boolean);
}

/** Says that values lie beyond the first view. */
function beyondView({ all, y }, isLog) {
  const [least, most] = all.map((end) => tickText(from(end, isLog)));
  return [
    all[1] > y[1] && `Values up to ${most} lie above the picture: zoom out to see them.`,
    all[0] < y[0] && `Values down to ${least} lie below the picture: zoom out to see them.`,
  ].filter(Boolean);
}
