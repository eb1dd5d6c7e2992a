// Shows the competition and the two submissions as soon as they are chosen.

const form = document.getElementById("league");
form?.addEventListener("change", ({ target }) => {
  // Another competition has other submissions.
  if (target.name === "collection") for (const other of form.querySelectorAll("[name=first], [name=second]")) other.disabled = true;
  form.requestSubmit();
});
