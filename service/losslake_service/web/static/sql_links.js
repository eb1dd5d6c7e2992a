// From the names in a row to the pages about them.

const NAMES = ["collection", "dataset", "model", "optimizer"];
const PATHS = [["workload", "workloads", 0], ["study", "studies", 1], ["trial", "trials", 2]];

/**
 * The addresses of pages by the column that leads to them, for one row.
 * @param {Object} row
 * @param {?string} pinned the release that links have to name
 */
export function linksOf(row, pinned) {
  const found = {};
  for (const [column, folder, numbers] of PATHS) {
    const path = row[column];
    if (typeof path === "string" && isPath(path, numbers)) found[column] = address(folder, path, pinned);
  }
  if (!NAMES.every((name) => typeof row[name] === "string" && row[name])) return found;
  const workload = NAMES.map((name) => row[name]).join("/");
  found.optimizer = address("workloads", workload, pinned);
  if (!isCount(row.batch_size)) return found;
  found.batch_size = address("studies", `${workload}/${row.batch_size}`, pinned);
  if (isCount(row.trial_id)) found.trial_id = address("trials", `${workload}/${row.batch_size}/${row.trial_id}`, pinned);
  return found;
}

/** The page of the most special thing that a row names; undefined for none. */
export function linkOf(row, pinned) {
  const links = linksOf(row, pinned);
  return links.trial ?? links.trial_id ?? links.study ?? links.batch_size ?? links.workload ?? links.optimizer;
}

function address(folder, path, pinned) {
  const query = pinned ? `?release=${encodeURIComponent(pinned)}` : "";
  return `/${folder}/${path.split("/").map(encodeURIComponent).join("/")}${query}`;
}

/** Whether a text is the path of a workload, with so many numbers behind it. */
function isPath(text, numbers) {
  const parts = text.split("/");
  const last = numbers ? parts.slice(-numbers) : [];
  return parts.length >= 4 + numbers && parts.every(Boolean) && last.every((part) => /^\d+$/.test(part));
}

function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}
