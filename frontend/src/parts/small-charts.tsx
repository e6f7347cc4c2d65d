/** Charts of the size of a table's cell. Those of one metric have one scale, so that rows can be compared by eye. */
import { number, span } from "../format";
import type { Evidence, Metric } from "../model";
import { RunShape, runColour } from "./runs";
import { extent, ticks } from "./scale";

const STRIP_WIDTH = 200;
const MARGIN = 8;
const DIGIT_WIDTH = 6;
const SPARK_WIDTH = 110;
const SPARK_HEIGHT = 22;
const WIDEST_BAR = 12;

interface Scale {
  low: number;
  high: number;
  ticks: number[];
}

/** From the lowest to the highest end of all runs' intervals; null where nothing was measured. */
export function stripScale(every: Evidence[]): Scale | null {
  const ends = extent(every.flatMap(({ mean, interval }) => [mean, interval?.low, interval?.high]));
  if (ends === null) return null;
  const [low, high] = ends;
  const fits = ([first = 0, second = high, ...others]: number[]) => {
    const characters = Math.max(...[first, second, ...others].map((tick) => tickText(tick).length));
    return ((second - first) / (high - low)) * (STRIP_WIDTH - 2 * MARGIN) > characters * DIGIT_WIDTH + MARGIN;
  };
  // Of long numbers there is room for fewer.
  const found = [4, 3, 2].map((about) => ticks(low, high, about)).find(fits);
  return { low, high, ticks: found ?? ticks(low, high, 1).slice(0, 1) };
}

function place(scale: Scale, value: number): number {
  return MARGIN + ((value - scale.low) / (scale.high - scale.low)) * (STRIP_WIDTH - 2 * MARGIN);
}

function Grid({ scale }: { scale: Scale }) {
  return (
    <g class="strip-grid">
      {scale.ticks.map((tick) => (
        <line key={tick} x1={place(scale, tick)} x2={place(scale, tick)} y1="0" y2="100%" />
      ))}
    </g>
  );
}

/** The numbers of the scale, above its strips. */
export function StripAxis({ scale }: { scale: Scale }) {
  return (
    <svg class="strip" width={STRIP_WIDTH} aria-hidden="true">
      {scale.ticks.map((tick) => (
        <text key={tick} x={place(scale, tick)} y="100%" dy="-4" text-anchor="middle">
          {tickText(tick)}
        </text>
      ))}
    </svg>
  );
}

/** A run's mean and its interval. */
export function Strip({ run, evidence, scale }: { run: number; evidence: Evidence; scale: Scale }) {
  const { mean, interval } = evidence;
  return (
    <svg class="strip" width={STRIP_WIDTH} aria-hidden="true">
      <Grid scale={scale} />
      {interval && (
        <line
          x1={place(scale, interval.low)}
          x2={place(scale, interval.high)}
          y1="50%"
          y2="50%"
          stroke={runColour(run)}
          stroke-width="2.5"
        />
      )}
      {mean !== null && (
        <svg x={place(scale, mean)} y="50%" overflow="visible" aria-hidden="true">
          <RunShape run={run} x={0} y={0} radius={4.5} />
        </svg>
      )}
    </svg>
  );
}

/** How scores spread over the metric's bins. */
export function Sparkline({ run, evidence, metric }: { run: number; evidence: Evidence; metric: Metric }) {
  const { histogram, summary } = evidence;
  const most = Math.max(...histogram, 0);
  if (most === 0) return null;
  const step = SPARK_WIDTH / histogram.length;
  const width = Math.min(Math.max(step - 1, 1), WIDEST_BAR);
  const median = number(summary.median, metric.format);
  const ends = span({ low: summary.min, high: summary.max }, metric.format);
  return (
    <svg
      class="spark"
      width={SPARK_WIDTH}
      height={SPARK_HEIGHT}
      role="img"
      aria-label={`Scores from ${ends}, half of them at most ${median}`}
    >
      {histogram.map((scores, bin) => {
        // One score among many is still seen.
        const height = scores === 0 ? 0 : Math.max((scores / most) * (SPARK_HEIGHT - 1), 1.5);
        return (
          <rect
            key={bin}
            x={(bin + 0.5) * step - width / 2}
            y={SPARK_HEIGHT - 1 - height}
            width={width}
            height={height}
            fill={runColour(run)}
          />
        );
      })}
      <line class="spark-base" x1="0" x2={SPARK_WIDTH} y1={SPARK_HEIGHT - 0.5} y2={SPARK_HEIGHT - 0.5} />
    </svg>
  );
}

/** The ends of the bins, above the sparklines. */
export function SparkAxis({ bins }: { bins: number[] }) {
  const [low, high] = [bins[0], bins.at(-1)];
  if (low === undefined || high === undefined) return null;
  return (
    <span class="spark-axis" aria-hidden="true">
      <span>{tickText(low)}</span>
      {low < high && <span>{tickText(high)}</span>}
    </span>
  );
}

/** Short, for there is room for little: 0.25, 1,200, 3e-5. */
function tickText(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(0);
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
