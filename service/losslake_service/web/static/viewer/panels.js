// The panels of the picture: where they are, and the best trial of each.

import { group, least } from "../vendor/d3.js";

/** The room around the box of a panel, in px. */
export const MARGIN = { left: 58, right: 12, top: 24, bottom: 38 };
const SIZE = { width: 300, height: 220 };
const LEAST_WIDTH = 40;

/**
 * Returns the panels of curves: one, or one per batch size.
 * @param {object} drawing
 * @param {number} width in px
 * @param {number} height in px that one panel takes; several take as much as they need
 * @returns {{panels: object[], height: number}} height: that all panels take
 */
export function panelsOf({ curves, bests, goal, isDivided }, width, height) {
  const labelOf = (index) => (isDivided ? `Batch size ${curves[index].batchSize?.toLocaleString("en") ?? "that changes"}` : "");
  const sizeOf = ([, [first]]) => curves[first].batchSize ?? Infinity;
  const groups = [...group(curves.keys(), labelOf)].sort((one, other) => (isDivided && sizeOf(one) !== sizeOf(other) ? sizeOf(one) - sizeOf(other) : 0));
  const nColumns = isDivided ? Math.max(1, Math.min(groups.length, Math.floor(width / SIZE.width))) : 1;
  const cell = { width: width / nColumns, height: isDivided ? SIZE.height : height };
  const panels = groups.map(([label, indexes], place) => {
    const studies = new Set(indexes.map((index) => curves[index].study));
    const box = {
      left: (place % nColumns) * cell.width + MARGIN.left,
      top: Math.floor(place / nColumns) * cell.height + MARGIN.top,
      width: Math.max(LEAST_WIDTH, cell.width - MARGIN.left - MARGIN.right),
      height: cell.height - MARGIN.top - MARGIN.bottom,
    };
    return { label, indexes, box, studies, best: bestOf(studies, bests, goal) };
  });
  return { panels, height: Math.ceil(groups.length / nColumns) * cell.height };
}

/** Returns the first trial of studies to reach the target, else that with the best value; undefined for none. */
function bestOf(studies, bests, goal) {
  const sign = goal?.direction === "maximize" ? -1 : 1;
  const first = least(bests.filter(({ study }) => studies.has(study)), (one, other) => {
    const [steps, otherSteps] = [one.bestSteps ?? Infinity, other.bestSteps ?? Infinity];
    return steps === otherSteps ? sign * (one.bestValue - other.bestValue) : steps - otherSteps;
  });
  return first && { trial: `${first.study}/${first.best}`, isFirst: first.bestSteps !== null };
}

/** Returns the panel nearest to a point in px. */
export function panelNear(panels, point) {
  return least(panels, ({ box }) => distance(box, point));
}

/** Returns the panel at a point in px; undefined for none. */
export function panelAt(panels, point) {
  return panels.find(({ box }) => distance(box, point) === 0);
}

/** Returns the px from a box to a point, 0 for a point in it. */
function distance({ left, top, width, height }, [x, y]) {
  return Math.hypot(Math.max(left - x, 0, x - left - width), Math.max(top - y, 0, y - top - height));
}
