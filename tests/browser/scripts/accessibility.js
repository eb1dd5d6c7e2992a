/**
 * What axe-core finds on the page by these rules. It looks at the first of what is repeated: of all children of an element
 * with the same name and classes, as the rows of a table, at eight. Contrast, which takes most of the time, is looked at
 * where texts look different: of all elements with text of their own in the same colours and the same place of the tree,
 * at the first three.
 */
async (runOnly) => {
  const repeated = [...document.body.querySelectorAll('*')].flatMap((parent) => {
    const alike = new Map();
    return [...parent.children].filter((child) => {
      const kind = `${child.localName}.${child.getAttribute('class') ?? ''}`;
      alike.set(kind, (alike.get(kind) ?? 0) + 1);
      return alike.get(kind) > 8;
    });
  });
  const places = repeated.map((element) => {
    const place = document.createComment('');
    element.replaceWith(place);
    return place;
  });
  // What is laid out only once it is near the window would move while it is measured.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { content-visibility: visible !important; }');
  document.adoptedStyleSheets.push(sheet);
  const MARK = 'data-contrast';
  const seen = new Map();
  const sampled = [...document.body.querySelectorAll('*')].filter((element) => {
    if (![...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())) return false;
    const { color, backgroundColor } = getComputedStyle(element);
    const steps = [color, backgroundColor];
    for (let at = element; at !== document.body; at = at.parentElement) {
      steps.push(`${at.localName}.${at.getAttribute('class') ?? ''}`);
    }
    const look = steps.join(' ');
    seen.set(look, (seen.get(look) ?? 0) + 1);
    return seen.get(look) <= 3;
  });
  for (const element of sampled) element.setAttribute(MARK, '');
  axe.configure({ rules: [{ id: 'color-contrast', selector: `[${MARK}]` }] });
  const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] });
  for (const element of sampled) element.removeAttribute(MARK);
  places.forEach((place, at) => place.replaceWith(repeated[at]));
  document.adoptedStyleSheets.pop();
  return violations.map(
    (rule) =>
      `${rule.id}: ${rule.help}: ` +
      rule.nodes.slice(0, 5).map((node) => `${node.target.join(' ')} ${node.any.map((check) => check.message)}`).join('; '),
  );
};
