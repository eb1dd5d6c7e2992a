/**
 * What axe-core finds on the page. Contrast, which takes most of the time, is looked at where texts look different:
 * of all elements with text of their own in the same colours and the same place of the tree, at the first three.
 * runOnly: the other rules; null for contrast alone.
 */
async (runOnly) => {
  // What a page lays out only when it comes near has no place of its own yet.
  for (const element of document.querySelectorAll('section')) element.style.contentVisibility = 'visible';
  const seen = new Map();
  const looks = [...document.body.querySelectorAll('*')].filter((element) => {
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
  const options = { resultTypes: ['violations'] };
  const rules = { 'color-contrast': { enabled: false } };
  const found = runOnly ? (await axe.run({ ...options, runOnly, rules })).violations : [];
  const dim = looks.length
    ? (await axe.run({ include: looks }, { ...options, runOnly: { type: 'rule', values: ['color-contrast'] } })).violations
    : [];
  return [...found, ...dim].map(
    (rule) =>
      `${rule.id}: ${rule.help}: ` +
      rule.nodes.slice(0, 5).map((node) => `${node.target.join(' ')} ${node.any.map((check) => check.message)}`).join('; '),
  );
};
