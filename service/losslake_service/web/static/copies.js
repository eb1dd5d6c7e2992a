// Buttons that copy a text, and code for several tools, of which one is chosen. Without scripts there is all code, and no button.

const SHOWN_MS = 1600;

/** Shows and activates the copy buttons inside a node. */
export function offerCopies(node) {
  for (const button of node.querySelectorAll("button[data-copies]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button, document.getElementById(button.dataset.copies)));
  }
  for (const codes of node.querySelectorAll(".codes")) offerChoice(codes);
}

/** Shows only the code for the chosen tool. */
function offerChoice(codes) {
  const [pick, select, button] = [".pick", "select", "button"].map((each) => codes.querySelector(each));
  const show = () => {
    for (const each of codes.querySelectorAll("code")) each.closest(".lines > div").hidden = each.id !== select.value;
  };
  pick.hidden = false;
  select.addEventListener("change", show);
  button.addEventListener("click", () => copy(button, document.getElementById(select.value)));
  show();
}

async function copy(button, source) {
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
