// Buttons that copy a text. Without scripts they stay hidden.

const SHOWN_MS = 1600;

/** Shows and activates the copy buttons inside a node. */
export function offerCopies(node) {
  for (const button of node.querySelectorAll("button[data-copies]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copies);
  try {
    await navigator.clipboard.writeText(source.textContent);
    say(button, "Copied");
  } catch {
    // Without access to the clipboard, select the text, so that the keyboard can copy it.
    getSelection().selectAllChildren(source);
    say(button, "Selected");
  }
}

function say(button, text) {
  const label = button.firstChild;
  const before = button.dataset.label ?? label.textContent;
  button.dataset.label = before;
  label.textContent = text;
  setTimeout(() => (label.textContent = before), SHOWN_MS);
}
