// The box for a reader's own run on the start page. Its scripts are loaded when a run is given.

import { offerDrops } from "./own_run/dropped.js";

const section = document.getElementById("your-run");
const form = section.querySelector("form");

for (const name of ["file", "folder"]) form.elements[name].addEventListener("change", ({ target }) => target.files.length && bring([...target.files]));
form.addEventListener("submit", (event) => event.preventDefault());
offerDrops(bring);
addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text");
  if (event.target.closest("input, textarea") || !text.includes("\n")) return;
  event.preventDefault();
  bring([new File([text], "pasted columns")]);
});

async function bring(files) {
  const { readGiven } = await import("./own_run/start.js");
  readGiven(section, files);
}
