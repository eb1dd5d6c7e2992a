// Files and folders that are dropped anywhere on a page.

/**
 * Takes what is dropped on the page.
 * @param {(files: Promise<File[]>) => void} receive gets the files; of folders, those in them
 */
export function offerDrops(receive) {
  addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    // What was dropped can't be read after the event: an import would wait too long.
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
    const files = [...event.dataTransfer.files];
    receive(import("./run_file.js").then(({ filesIn }) => filesIn(entries, files)));
  });
}
