// Does one thing at a time, and then the latest of those asked for meanwhile: what came between is passed over.

/**
 * @template T
 * @param {(asked: T) => Promise<unknown>} act
 * @returns {(asked: T) => void}
 */
export function latestOf(act) {
  let waiting;
  let isBusy = false;
  return async (asked) => {
    waiting = { asked };
    if (isBusy) return;
    isBusy = true;
    while (waiting) {
      const next = waiting.asked;
      waiting = undefined;
      await act(next);
    }
    isBusy = false;
  };
}
