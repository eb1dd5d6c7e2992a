// What a panel shows of a run beside the sentence: the forecast, stored curves at its batch size, and other batch sizes.

import { liven } from "../chart.js";
import { element } from "../elements.js";
import { general, significant, whole } from "../numbers.js";
import { stepsTo } from "./curve.js";
import { forecast } from "./forecast.js";
import { storedBeside } from "./stored.js";

const place = document.querySelector("#own .more");
let shown = {};

/** Removes all of it. */
export function hideMore() {
  shown = {};
  place.replaceChildren();
}

/**
 * Shows what there is for a run whose comparison is shown.
 * @param {{steps: Float64Array, values: Float64Array}} curve
 * @param {object} about of the page
 * @param {number} batchSize one with stored trials
 * @param {Object<string, object>} sizes the stored trials by batch size
 * @param {number | undefined} seconds per step
 */
export async function showMore(curve, about, batchSize, sizes, seconds) {
  const address = withBatchSize(about.trials, batchSize);
  if (shown.address !== address) {
    hideMore();
    shown = { address, said: element("p", { className: "forecast", "aria-live": "polite" }), figures: element("div"), costs: element("div") };
    place.append(shown.said, shown.figures, shown.costs);
  }
  const showing = shown;
  if (place.dataset.on === "workload") showing.costs.replaceChildren(...costs(curve, about, batchSize, sizes, seconds));
  showing.loading ??= storedBeside(address);
  try {
    const stored = await showing.loading;
    if (showing !== shown) return;
    if (place.dataset.on === "workload" && !showing.figures.children.length) addCurves(showing.figures, stored, batchSize);
    say(showing.said, forecastText(stored, curve));
  } catch (error) {
    if (showing === shown) say(showing.said, `The stored curves couldn't be loaded. ${error.message}`);
  }
}

function say(status, text) {
  if (status.textContent !== text) status.textContent = text;
}

function withBatchSize(address, batchSize) {
  const url = new URL(address, location.href);
  url.searchParams.set("batch_size", batchSize);
  return url.pathname + url.search;
}

/** Adds the figure of stored curves, over which the run is drawn, and the link to their study. */
function addCurves(parent, { curves, title, height, study }, batchSize) {
  const figure = element("figure", { className: "chart", id: "own-curves", data: { live: curves, height, title } }, element("p", { className: "heading" }, title), element("div", { className: "plot" }), element("figcaption", {}, element("p", { className: "notes quiet", hidden: true })));
  parent.append(element("h3", {}, `Your run over the stored curves at batch size ${whole(batchSize)}`), figure, element("p", {}, element("a", { href: `${study}#own` }, `All trials at batch size ${whole(batchSize)}, with your run`)));
  // A reader who gave a run waits for it.
  liven(figure, "10000px");
}

/** Returns the forecast in sentences, or why there is none. */
function forecastText({ comparable, instead, level, finalHeld, targetHeld }, curve) {
  if (!comparable) return instead;
  let result;
  try {
    result = forecast(comparable, curve, level);
  } catch (error) {
    return error.message;
  }
  const percent = `${Math.round(100 * level)}%`;
  const { final, median, reachedAt, target, place: rank } = result;
  const sentences = [`Forecast from ${whole(result.trials)} stored trials that went on: best value at the end ${general4(final[0])} to ${general4(final[1])} (${percent}), ${general4(median)} in the median of similar runs.`];
  if (reachedAt === null && target) sentences.push(`The target: ${stepsText(target.steps)} (${percent}); ${target.reached} of the ${target.alike} most similar runs reached it.`);
  else if (reachedAt === null) sentences.push("Too few trials say when the target is reached.");
  if (rank !== "within") sentences.push(`At this step your run is ${rank} of these trials: it may be unlike them, and then the forecast says nothing.`);
  sentences.push(`Such bands held for ${finalHeld}${reachedAt === null && target ? ` (value) and ${targetHeld} (step)` : ""} of stored trials.`);
  return sentences.join(" ");
}

function general4(number) {
  return general(Number(number.toPrecision(4)));
}

function stepsText([first, last]) {
  if (first === Infinity) return "not reached";
  return last === Infinity ? `step ${whole(first)} or later, or not reached` : `step ${whole(first)} to ${whole(last)}`;
}

/** Returns a table of what the best stored trials of other batch sizes would take, given the reader's seconds per step. */
function costs(curve, { goal, advice }, batchSize, sizes, seconds) {
  const rows = Object.entries(sizes).filter(([, { stored }]) => stored?.nearest.length).map(([size, { stored }]) => ({ size: Number(size), steps: stored.nearest[0][2] }));
  if (rows.length < 2) return [];
  const hasTime = seconds > 0;
  const heading = element("h3", {}, "What other batch sizes would take");
  const own = stepsTo(curve, goal);
  const body = rows.map(({ size, steps }) => element("tr", size === batchSize ? { "aria-current": "true" } : {}, element("th", { scope: "row", className: "number" }, whole(size)), cell(whole(steps)), ...(hasTime ? [cell(timesOf(steps, size, batchSize, seconds))] : [])));
  const names = ["Batch size", "Steps, best trial", ...(hasTime ? ["Your time"] : [])];
  const head = element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col", className: "number" }, name))));
  const caption = element("caption", {}, `Steps to ${goal.text} of the best stored trial${own === null ? "" : `; your run: ${whole(own)} at batch size ${whole(batchSize)}${hasTime ? `, ${duration(own * seconds)}` : ""}`}.`);
  const table = element("div", { className: "wide", tabIndex: 0, role: "region", "aria-label": "Table of other batch sizes" }, element("table", {}, caption, head, element("tbody", {}, ...body)));
  const note = hasTime
    ? "A step of a larger batch takes at least as long as yours, and at most in proportion to the batch size; of a smaller one, the reverse. "
    : "Give the seconds per step of your run for the times on your accelerator. ";
  return [heading, table, element("p", { className: "quiet" }, note, element("a", { href: advice }, "Step times at two batch sizes or more"), " make the times narrower, and add prices.")];
}

/** Returns the time of some steps at a batch size, given seconds per step at another one: it lies between two bounds. */
function timesOf(steps, size, given, seconds) {
  const [least, most] = [1, size / given].sort((one, other) => one - other).map((factor) => duration(steps * seconds * factor));
  return least === most ? least : `${least} to ${most}`;
}

/** Returns a number of seconds in words. */
function duration(seconds) {
  for (const [unit, size] of [["days", 86400], ["h", 3600], ["min", 60]]) if (seconds >= 2 * size) return `${significant(seconds / size, 3)} ${unit}`;
  return `${significant(seconds, 3)} s`;
}

function cell(text) {
  return element("td", { className: "number" }, text);
}
