// The form of a goal: a change of the metric clears the target, and the page chooses a new one.

for (const form of document.querySelectorAll("form.goal")) {
  form.elements.metric.addEventListener("change", () => {
    form.elements.target.value = "";
    form.requestSubmit();
  });
}
