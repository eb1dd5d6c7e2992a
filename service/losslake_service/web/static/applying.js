// Forms that apply at once: a change of a field sends them. Without scripts they have a button.

/** Sends a form when one of its fields changes; of a select that the keyboard moves through, when it is left or Enter is pressed. */
export function applyAtOnce(form) {
  let isByKey = false;
  let isChanged = false;
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && isChanged) form.requestSubmit();
    else if (!["Enter", "Tab", "Shift"].includes(event.key)) isByKey = event.target.matches("select");
  });
  form.addEventListener("pointerdown", () => (isByKey = false));
  form.addEventListener("change", () => {
    isChanged = true;
    if (!isByKey) form.requestSubmit();
  });
  form.addEventListener("focusout", () => isByKey && isChanged && form.requestSubmit());
  form.addEventListener("formdata", ({ formData }) => leaveOutEmpty(formData));
}

/** Leaves empty fields out of the address. */
function leaveOutEmpty(formData) {
  const filled = [...formData].filter(([, value]) => value !== "");
  for (const name of new Set(formData.keys())) formData.delete(name);
  for (const [name, value] of filled) formData.append(name, value);
}
