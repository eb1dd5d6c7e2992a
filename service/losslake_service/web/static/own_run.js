// The panel for a reader's own run. Its other scripts are loaded when it is opened, a run is given, or one was before.

import { offerDrops } from "./own_run/dropped.js";
import { keptRun } from "./own_run/kept.js";

const panel = document.getElementById("own");

panel.hidden = false;
panel.addEventListener("toggle", load, { once: true });
panel.querySelector("form").addEventListener("input", load, { once: true });
offerDrops(async (files) => (await load()).readFiles(files));
if (location.hash === "#own") {
  panel.open = true;
  panel.scrollIntoView();
}
if (keptRun()) load();

function load() {
  return import("./own_run/panel.js");
}
