// The chart of a result, with its controls and downloads.

import { offerKeys } from "../chart_keys.js";
import { element } from "../elements.js";
import { chosen, drawable, specification } from "./chart.js";
import { embed, loadVega } from "../vega.js";

const MARKS = [["line", "Line"], ["points", "Points"], ["bars", "Bars"]];
const STEP = 40;
const HEIGHT = 420;
const dark = matchMedia("(prefers-color-scheme: dark)");

/**
 * Returns a chart with its controls, and the choices that it shows.
 * @param {Object} result
 * @param {Object} choices as the address has them
 * @param {{themes: Object, release: number, statement: string, pinned: ?string, source: string}} about
 * @param {(choices: Object) => void} changed
 */
export function resultChart(result, choices, about, changed) {
  const state = { result, about, choices: chosen(result, choices), view: null, width: 0, turn: 0 };
  const plot = element("div", { className: "plot" });
  const problem = element("p", { className: "problem", role: "alert", hidden: true });
  const figure = element("figure", { className: "chart" }, plot, problem, downloads(state));
  const redraw = () => draw(state, plot, problem);
  const controls = element("div", { className: "controls" }, ...inputs(state, () => {
    changed(state.choices);
    redraw();
  }));
  new ResizeObserver(() => widthOf(plot) !== state.width && plot.clientWidth && redraw()).observe(plot);
  dark.addEventListener("change", () => plot.isConnected && redraw());
  return { node: element("div", { className: "as-chart" }, controls, figure), choices: state.choices };
}

function inputs(state, changed) {
  const names = drawable(state.result).map((column) => [column.name, column.name]);
  const select = (text, name, options) => {
    const onchange = ({ target }) => {
      state.choices[name] = target.value;
      changed();
    };
    return element("label", {}, text, element("select", { onchange }, ...options.map(([value, label]) => element("option", { value, selected: value === state.choices[name] }, label))));
  };
  const check = (text, letter) => {
    const onchange = ({ target }) => {
      const others = state.choices.log.replace(letter, "");
      state.choices.log = [...(others + (target.checked ? letter : ""))].sort().join("");
      changed();
    };
    return element("label", { className: "check" }, element("input", { type: "checkbox", checked: state.choices.log.includes(letter), onchange }), text);
  };
  return [
    select("Mark", "mark", MARKS),
    select("x", "x", names),
    check("log x", "x"),
    select("y", "y", names),
    check("log y", "y"),
    select("Colour", "colour", [["", "none"], ...names]),
  ];
}

async function draw(state, plot, problem) {
  const turn = (state.turn += 1);
  state.width = widthOf(plot);
  problem.hidden = true;
  try {
    await loadVega();
    const { place, view } = await embed(specified(state));
    if (turn !== state.turn) return view.finalize();
    state.view?.finalize();
    state.view = view;
    plot.replaceChildren(place);
    offerKeys(plot, view, `${state.choices.y} by ${state.choices.x}`);
    plot.dataset.drawn = turn;
  } catch (error) {
    problem.textContent = `This chart can't be drawn: ${error.message}`;
    problem.hidden = false;
  }
  return undefined;
}

function specified({ result, choices, about, width }) {
  const config = about.themes[dark.matches ? "dark" : "light"];
  return specification(result, choices, config, { width, height: width < 480 ? 340 : HEIGHT }, about);
}

function downloads(state) {
  const download = (text, make) => {
    const name = `losslake-chart.${text === "Vega-Lite" ? "vl.json" : text.toLowerCase()}`;
    return element("button", { type: "button", onclick: async () => save(name, await make()) }, text);
  };
  return element("figcaption", { className: "takes" }, "Picture: ",
    download("SVG", async () => new Blob([await state.view.toSVG()], { type: "image/svg+xml" })),
    download("PNG", async () => blobOf(await state.view.toCanvas(2))),
    download("Vega-Lite", async () => new Blob([JSON.stringify(specified(state), null, 1)], { type: "application/json" })));
}

function blobOf(canvas) {
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function save(name, blob) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function widthOf(plot) {
  return Math.min(1200, Math.max(240, Math.floor(plot.clientWidth / STEP) * STEP));
}
