// The sentences below the picture: what is drawn, and what isn't.

import { counted, whole } from "../numbers.js";
import { UNKNOWN } from "./curves.js";

/**
 * Returns the sentences.
 * @param {object} loaded curves and facts
 * @param {object} request what the page asks for
 * @param {object} state the view of the address
 * @param {object} plot
 */
export function notesOf({ curves, facts, isThinned }, { goal, points }, state, plot) {
  const texts = [`${counted(curves.length, "curve")}${curves.length > 1 ? bestInWords(plot.panels) : ""}.`];
  if (isThinned) texts.push(`Thinned to about ${points} evaluations a curve; every record is kept.`);
  if (state.smooth) {
    const which = isThinned ? "the evaluations drawn, not of all" : "all evaluations";
    texts.push(`Smoothed: exponential moving average of ${which}, weight ${state.smooth}, debiased; the measured curves stay faint behind.`);
  }
  if (goal) texts.push(targetInWords(goal, state.log.includes("y")), ...unknownOutcomes(facts.get("outcome")));
  return [...texts, ...plot.notes()];
}

/** Says which curves are thick, and by which rule; empty if none is. */
function bestInWords(panels) {
  const best = panels.filter((panel) => panel.best);
  if (!best.length) return "";
  const isPlural = panels.length > 1;
  const nFirst = best.filter((panel) => panel.isFirst).length;
  const byValue = isPlural ? "those with the best value" : "the one with the best value";
  const rule = nFirst === best.length ? "the first to reach the target" : nFirst ? `the first to reach the target, or else ${byValue}` : byValue;
  if (!isPlural) return `; the thick one is the best trial, ${rule}`;
  const places = best.length === panels.length ? "each batch size" : `${whole(best.length)} of ${whole(panels.length)} batch sizes`;
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
  const texts = [];
  if (nFlagged) texts.push(`${counted(nFlagged, "trial")} ${nFlagged === 1 ? "is" : "are"} flagged and ${nFlagged === 1 ? "counts" : "count"} for no target, as FROM flags in SQL explains.`);
  if (nStopped) texts.push(`${counted(nStopped, "trial")} stopped at an easier goal: whether ${nStopped === 1 ? "it" : "they"} would reach this one isn't known.`);
  return texts;
}
