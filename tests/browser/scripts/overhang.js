() => {
  const faults = [];
  const root = document.scrollingElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`the page: ${root.scrollWidth} > ${root.clientWidth}`);
  // What scrolls by itself, what is inline, and what is closed has no box to leave.
  const free = ".wide, .unseen, pre, math, svg, .formula, .suggestions, details:not([open]) > :not(summary)";
  for (const element of document.querySelectorAll("main *, header *")) {
    const style = getComputedStyle(element);
    if (style.display === "inline" || ["auto", "scroll"].includes(style.overflowX) || element.closest(free)) continue;
    if (element.matches("input, select, button, textarea, canvas") || !element.clientWidth) continue;
    if (element.scrollWidth > element.clientWidth + 1) {
      faults.push(`${element.tagName} ${element.className}: ${element.scrollWidth} > ${element.clientWidth}`);
    }
  }
  for (const canvas of document.querySelectorAll("figure canvas")) {
    const [inner, outer] = [canvas, canvas.closest(".plot")].map((each) => each.getBoundingClientRect());
    if (inner.left < outer.left || inner.right > outer.right) faults.push(`a chart: ${inner.width} > ${outer.width}`);
  }
  return faults.slice(0, 5);
}
