// The slider of targets: its stops are the rows of the target sweep. The values of a row are shown at once, the chart is
// redrawn as fast as possible, and the rest of the page follows when the slider rests.

import { draw } from "./chart.js";
import { filled, general, keyFigures, reached } from "./key_figures.js";
import { latestOf } from "./latest.js";
import { renew } from "./renewal.js";

const REST_MS = 150;

/** Fetches the stops and enables the slider. */
export async function offerSlider(place) {
  const first = JSON.parse(place.dataset.row);
  const response = await fetch(place.dataset.stops);
  const stops = response.ok ? stopsOf((await response.json()).rows, first) : [];
  if (stops.length < 2) {
    place.remove();
    return;
  }
  const input = place.querySelector("input");
  input.max = stops.length - 1;
  input.value = stops.indexOf(first);
  input.disabled = false;
  place.classList.add("ready");
  const follow = following(JSON.parse(place.dataset.words), place);
  input.addEventListener("input", () => follow(stops[input.valueAsNumber]));
}

/** Returns the stops from the hardest to the easiest, including the current one. Sweeps go from the easiest to the hardest. */
function stopsOf(rows, first) {
  const stops = rows.filter((row) => row.target !== first.target).reverse();
  const isRising = stops.length < 2 || stops[0].target < stops.at(-1).target;
  const place = stops.findIndex((row) => (isRising ? row.target > first.target : row.target < first.target));
  stops.splice(place < 0 ? stops.length : place, 0, first);
  return stops;
}

/** Returns the function that updates the page when the slider moves to a row. */
function following(words, place) {
  const figure = document.getElementById("scaling");
  const redraw = latestOf((row) => {
    const live = new URL(figure.dataset.live, location.href);
    live.searchParams.set("target", row.target);
    return draw(figure, live.pathname + live.search);
  });
  let resting;
  let renewing;
  return (row) => {
    say(row, words, place);
    figure.dataset.title = filled(words.title, { ...words.fixed, goal: goalOf(row, words) });
    redraw(row);
    document.getElementById("answer").classList.add("stale");
    clearTimeout(resting);
    renewing?.abort();
    renewing = new AbortController();
    resting = setTimeout(() => rest(row, words, renewing.signal), REST_MS);
  };
}

/** Shows the key figures, and the target in numbers and in words. */
function say(row, words, place) {
  for (const [name, { value, note }] of Object.entries(keyFigures(row, words))) {
    const [number, quiet] = document.querySelectorAll(`#key-figures [data-figure="${name}"] dd span`);
    number.textContent = value;
    quiet.textContent = note;
  }
  const target = general(row.target);
  const counts = { reached: reached(row, words), all: words.fixed.all };
  place.querySelector("output").textContent = filled(words.stop, { ...words.fixed, target });
  place.querySelector("input").setAttribute("aria-valuetext", filled(words.spoken, { goal: goalOf(row, words), ...counts }));
  document.getElementById("target").value = row.target;
}

function goalOf(row, words) {
  return filled(words.goal, { ...words.fixed, target: general(row.target) });
}

/** Updates the address and the rest of the page to the target. */
async function rest(row, words, signal) {
  const address = new URL(location.href);
  address.searchParams.set("metric", words.fixed.metric);
  address.searchParams.set("target", row.target);
  address.hash = "";
  history.replaceState(null, "", address);
  const answer = document.getElementById("answer");
  try {
    await renew(address, signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    answer.textContent = `The answer for this target couldn't be loaded. ${error.message} Reload the page to try again.`;
  }
  answer.classList.remove("stale");
}
