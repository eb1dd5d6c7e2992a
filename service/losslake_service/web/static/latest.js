// Runs one action at a time, and then only the latest of the calls that arrived meanwhile.

/**
 * @template T
 * @param {(argument: T) => Promise<unknown>} act
 * @returns {(argument: T) => void}
 */
export function latestOf(act) {
  let waiting;
  let isBusy = false;
  return async (argument) => {
    waiting = { argument };
    if (isBusy) return;
    isBusy = true;
    while (waiting) {
      const next = waiting.argument;
      waiting = undefined;
      await act(next);
    }
    isBusy = false;
  };
}
