// The box for a reader's own run on the start page. Its scripts are loaded when a run is given.

const section = document.getElementById("your-run");
const form = section.querySelector("form");

for (const name of ["file", "folder"]) form.elements[name].addEventListener("change", ({ target }) => target.files.length && bring([...target.files]));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
addEventListener("drop", async (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  // What was dropped can't be read after the event: an import would wait too long.
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
  const files = [...event.dataTransfer.files];
  const { filesIn } = await import("./own_run/run_file.js");
  bring(filesIn(entries, files));
});
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
