// Creates an element in one call; strings become text nodes, never HTML.

/**
 * @param {string} tag
 * @param {Object<string, unknown>} [properties] properties of the element, `data` for its data attributes, and attributes with a dash
 * @param {...(Node|string)} children
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "data") Object.assign(made.dataset, value);
    else if (name.includes("-") || name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}
