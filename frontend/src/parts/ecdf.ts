/** Steps of an empirical distribution function: from each `x` on, `share` of the scores are at most `x`. */
export interface Step {
  x: number;
  share: number;
}

/** Heights apart by less than this look the same; lower steps are left out where there are more of them. */
const LEAST_RISE = 1 / 1000;

/**
 * The steps of `scores`, at most about a thousand. Each of them is exact, and the one at the highest score is always
 * there; between two of them the curve is low by less than `LEAST_RISE`.
 */
export function steps(scores: readonly (number | null)[]): Step[] {
  const sorted = Float64Array.from(scores.filter((score) => score !== null)).sort();
  const found: Step[] = [];
  let drawn = 0;
  for (let i = 0; i < sorted.length; i++) {
    const [x, next] = [sorted[i], sorted[i + 1]];
    if (x === undefined || x === next) continue;
    const share = (i + 1) / sorted.length;
    // The last step below a rise that is seen would be drawn too low, and the first one is where the scores begin.
    const isSeen = share - drawn >= LEAST_RISE || found.length === 0 || next === undefined;
    if (!isSeen) continue;
    found.push({ x, share });
    drawn = share;
  }
  return found;
}
