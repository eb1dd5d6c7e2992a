// Leaves out the two submissions when another competition is chosen, which has others.

const form = document.getElementById("league");
// Before the form is sent by the change: while the event is on its way down.
form?.addEventListener("change", ({ target }) => {
  if (target.name === "collection") for (const other of form.querySelectorAll("[name=first], [name=second]")) other.disabled = true;
}, { capture: true });
