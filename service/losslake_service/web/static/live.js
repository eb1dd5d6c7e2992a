// The page of a run that is being trained: draws it over stored curves, and renews what is said of it, as events come.

import { liven } from "./chart.js";
import { element } from "./elements.js";
import { whole } from "./numbers.js";
import { showOwnRun } from "./own_run/layer.js";
import { numberOf } from "./values.js";

const SECONDS_TO_RETRY = 30;
const about = JSON.parse(document.getElementById("live-about").textContent);
const places = Object.fromEntries(["said", "connection", "state", "last-step", "count", "metrics", "last"].map((name) => [name, document.getElementById(`live-${name}`)]));
const framed = document.querySelector("figure[data-frame]");
let stream;
let retry;
let isOver = false;

for (const figure of document.querySelectorAll("figure.chart")) liven(figure);
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
if (!document.hidden) follow();

/** Opens the stream; a page that nobody sees has none. */
function follow() {
  if (stream || isOver) return;
  clearTimeout(retry);
  stream = new EventSource(about.events);
  stream.addEventListener("open", () => tell(""));
  stream.addEventListener("curve", ({ data }) => show(JSON.parse(data)));
  stream.addEventListener("end", ({ data }) => {
    isOver = true;
    leave();
    tell(`${JSON.parse(data).text} This page isn't renewed any more.`);
  });
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) {
      tell("The connection was lost: trying again.");
      return;
    }
    leave();
    tell("This page can't be renewed now: trying again in half a minute.");
    retry = setTimeout(follow, 1000 * SECONDS_TO_RETRY);
  });
}

function leave() {
  clearTimeout(retry);
  stream?.close();
  stream = undefined;
}

function show(run) {
  if (about.metric === null) {
    // What is measured decides what the page shows.
    if (run.metrics.length) location.reload();
    return;
  }
  places.state.textContent = run.state_text;
  places["last-step"].textContent = run.last_step === null ? "–" : whole(run.last_step);
  places.count.textContent = whole(run.n_measurements);
  sayAnew(run.sentences);
  places.last.replaceChildren(...run.last.map(([step, value]) => element("tr", {}, cell(whole(step)), cell(String(value)))));
  offer(run.metrics);
  draw(run);
}

/** Replaces the sentences if they differ, so that they are read aloud only then. */
function sayAnew(sentences) {
  if (sentences.join() === [...places.said.children].map((each) => each.textContent).join()) return;
  places.said.replaceChildren(...sentences.map((text) => element("p", {}, text)));
}

function cell(text) {
  return element("td", { className: "number" }, text);
}

/** Adds metrics that weren't measured before to the choice. */
function offer(metrics) {
  const known = new Set([...places.metrics.options].map((option) => option.text));
  for (const name of metrics) if (!known.has(name)) places.metrics.append(new Option(name, name));
}

function draw({ steps, values }) {
  const curve = { steps: Float64Array.from(steps), values: Float64Array.from(values, numberOf) };
  if (framed) framed.dataset.live = frameOf(curve);
  showOwnRun(curve.steps.length ? { ...curve, metric: about.metric, goal: about.goal, batchSize: about.batchSize, name: "This run", isThinned: true } : undefined);
}

/** Returns the address of axes for a curve that no stored one is drawn with. */
function frameOf({ steps, values }) {
  const finite = values.filter(Number.isFinite);
  const ends = finite.length ? { least: Math.min(...finite), most: Math.max(...finite) } : {};
  return `${framed.dataset.frame}?${new URLSearchParams({ metric: about.metric, last_step: steps.at(-1) ?? 1, ...ends })}`;
}

function tell(text) {
  places.connection.textContent = text;
}
