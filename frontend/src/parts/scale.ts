import { plain } from "../format";
import type { Metric } from "../model";

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

/** Whether the bins grow by a factor, as they do for scores with a heavy tail: on this scale they are of one width. */
export function isLogarithmic({ bins }: Metric): boolean {
  const [first, second] = bins;
  const [last, before] = [bins.at(-1), bins.at(-2)];
  if (first === undefined || second === undefined || last === undefined || before === undefined) return false;
  return first > 0 && last - before > 1.5 * (second - first);
}

/** For the `x` of a chart of the metric's scores. */
export function scoreScale(metric: Metric, low: number, high: number) {
  const isLog = isLogarithmic(metric);
  return {
    label: plain(metric.name, 40) + (isLog ? ", logarithmic scale" : ""),
    domain: [low, high],
    type: isLog ? ("log" as const) : ("linear" as const),
  };
}

/** How many ticks have room for their numbers. */
export function tickCount(width: number): number {
  return Math.max(3, Math.round(width / 110));
}

/** For the axis of such a chart, and its grid. */
export function scoreTicks(metric: Metric, low: number, high: number, width: number) {
  if (!isLogarithmic(metric)) return { ticks: tickCount(width) };
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
  const finer = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  const inside = [finer, powers].map((every) => every.filter((tick) => tick >= low && tick <= high));
  return {
    ticks: inside.find((every) => every.length <= 2 * tickCount(width)) ?? inside[1] ?? [],
    tickFormat: (tick: number) => tick.toLocaleString("en", { maximumSignificantDigits: 3 }),
  };
}
