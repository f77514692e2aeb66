/** Makes characters visible that would turn the direction of the text around them. */

const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * @param document HTML
 * @returns the same, in which each such character outside of tags is written as in the terminal: `\u202e`. Ids from outside could
 * otherwise show times and amounts of the same line backwards.
 */
export function showTurningMarks(document: string): string {
  return document.replace(/(^|>)[^<]*/g, (text) =>
    text.replace(TURNING, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`),
  );
}
