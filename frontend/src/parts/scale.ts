/** About so many round numbers from `low` to `high`, both included where they are round. */
export function ticks(low: number, high: number, about: number): number[] {
  const rough = (high - low) / about;
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough * 0.75) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  // Multiples, not sums, so that 0.3 is 0.3; what rounding leaves of it is cut.
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** The lowest and highest of the numbers, apart even where they are all the same; null where there are none. */
export function extent(numbers: Iterable<number | null | undefined>): [low: number, high: number] | null {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const one of numbers) {
    if (one === null || one === undefined) continue;
    low = Math.min(low, one);
    high = Math.max(high, one);
  }
  if (low > high) return null;
  const room = low < high ? 0 : (Math.abs(low) || 1) / 2;
  return [low - room, high + room];
}
