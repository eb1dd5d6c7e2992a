// The form of a goal: another metric has other targets, so the page chooses one.

for (const form of document.querySelectorAll("form.goal")) {
  form.elements.metric.addEventListener("change", () => {
    form.elements.target.value = "";
    form.requestSubmit();
  });
}
