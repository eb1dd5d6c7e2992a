// Links from the names in a row to their pages.

const NAMES = ["collection", "dataset", "model", "optimizer"];
const PATHS = [["workload", "workloads", 0], ["study", "studies", 1], ["trial", "trials", 2]];

/**
 * Returns the addresses of pages for one row, by the column that links to them.
 * @param {Object} row
 * @param {?string} pinned the release that links must name
 */
export function linksOf(row, pinned) {
  const links = {};
  for (const [column, folder, numbers] of PATHS) {
    const path = row[column];
    if (typeof path === "string" && isPath(path, numbers)) links[column] = address(folder, path, pinned);
  }
  if (!NAMES.every((name) => typeof row[name] === "string" && row[name])) return links;
  const workload = NAMES.map((name) => row[name]).join("/");
  links.optimizer = address("workloads", workload, pinned);
  if (!isCount(row.batch_size)) return links;
  links.batch_size = address("studies", `${workload}/${row.batch_size}`, pinned);
  if (isCount(row.trial_id)) links.trial_id = address("trials", `${workload}/${row.batch_size}/${row.trial_id}`, pinned);
  return links;
}

/** Returns the most specific page for a row; undefined for none. */
export function linkOf(row, pinned) {
  const links = linksOf(row, pinned);
  return links.trial ?? links.trial_id ?? links.study ?? links.batch_size ?? links.workload ?? links.optimizer;
}

function address(folder, path, pinned) {
  const query = pinned ? `?release=${encodeURIComponent(pinned)}` : "";
  return `/${folder}/${path.split("/").map(encodeURIComponent).join("/")}${query}`;
}

/** Returns true if a text is the path of a workload followed by the given count of numbers. */
function isPath(text, numbers) {
  const parts = text.split("/");
  const last = numbers ? parts.slice(-numbers) : [];
  return parts.length >= 4 + numbers && parts.every(Boolean) && last.every((part) => /^\d+$/.test(part));
}

function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}
