// The panel for a reader's own run. Its other scripts are loaded when it is opened, a run is given, or one was before.

import { keptRun } from "./own_run/kept.js";

const panel = document.getElementById("own");

panel.hidden = false;
panel.addEventListener("toggle", load, { once: true });
panel.querySelector("form").addEventListener("input", load, { once: true });
addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
addEventListener("drop", async (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  // What was dropped can't be read after the event: an import would wait too long.
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
  const files = [...event.dataTransfer.files];
  const [{ readFiles }, { filesIn }] = await Promise.all([load(), import("./own_run/run_file.js")]);
  readFiles(filesIn(entries, files));
});
if (location.hash === "#own") {
  panel.open = true;
  panel.scrollIntoView();
}
if (keptRun()) load();

function load() {
  return import("./own_run/panel.js");
}
