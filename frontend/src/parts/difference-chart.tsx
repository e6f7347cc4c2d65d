/** How far, and which way, the questions of two runs differ. */
import { dot, type PlotOptions, rectY, ruleX, ruleY, text } from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";
import { count, number, plural, span } from "../format";
import type { Interval, MetricComparison } from "../model";
import { Chart } from "./chart";

interface Bin {
  from: number;
  to: number;
  questions: number;
}

interface Bins {
  bins: Bin[];
  /** Differences beyond the bins, counted in the outermost. */
  beyond: number;
}

const MOST_BINS = 41;

/** The smallest of 1, 2 and 5 times a power of ten that is at least `value`. */
function roundStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10);
}

/** Bins around 0: no difference is in the middle of one, so that ties are a bar of their own. */
function binned(differences: readonly number[]): Bins {
  const ordered = Float64Array.from(differences).sort();
  const at = (share: number) => ordered[Math.round(share * (ordered.length - 1))] ?? 0;
  let [low, high] = [Math.min(at(0), 0), Math.max(at(1), 0)];
  // A few very slow answers must not press all others into one bar.
  const [most, least] = [Math.max(at(0.995), 0), Math.min(at(0.005), 0)];
  if (high - low > 3 * (most - least) && most > least) [low, high] = [least, most];
  if (high === low) return { bins: [{ from: -0.5, to: 0.5, questions: ordered.length }], beyond: 0 };
  const step = roundStep((high - low) / (MOST_BINS - 1));
  const place = (value: number) => Math.round(value / step);
  const [first, last] = [place(low), place(high)];
  const bins: Bin[] = [];
  for (let i = first; i <= last; i++) bins.push({ from: (i - 0.5) * step, to: (i + 0.5) * step, questions: 0 });
  let beyond = 0;
  for (const difference of ordered) {
    const i = place(difference);
    if (i < first || i > last) beyond += 1;
    const bin = bins[Math.min(Math.max(i, first), last) - first];
    if (bin !== undefined) bin.questions += 1;
  }
  return { bins, beyond };
}

const LABEL_PX = 100;

/** Beside which end of the interval there is more room for the mean's label; null where there is too little. */
function labelPlace(interval: Interval, ends: [number, number], width: number) {
  const [low, high] = [Math.min(ends[0], interval.low), Math.max(ends[1], interval.high)];
  const [before, behind] = [interval.low - low, high - interval.high];
  if ((Math.max(before, behind) / (high - low)) * width < LABEL_PX) return null;
  return before > behind
    ? ({ x: interval.low, anchor: "end" } as const)
    : ({ x: interval.high, anchor: "start" } as const);
}

export function DifferenceChart({
  differences,
  comparison,
  format,
}: {
  differences: readonly number[];
  comparison: MetricComparison;
  format: string;
}) {
  const { bins, beyond } = useMemo(() => binned(differences), [differences]);
  const [highest = 0, second = 0] = bins.map((bin) => bin.questions).sort((a, b) => b - a);
  // Where most questions tie, the others could not be seen beside them.
  const root = highest > 12 * second && second > 0;
  const { mean_difference: mean, interval, higher_is_better: higher } = comparison;
  const options = useCallback(
    (width: number): PlotOptions => {
      const isNarrow = width < 500;
      const top = highest * (root ? 1.35 : 1.16);
      const label = interval && labelPlace(interval, [bins[0]?.from ?? 0, bins.at(-1)?.to ?? 0], width - 72);
      const sides = higher ? ["worse", "better"] : ["better", "worse"];
      const tone = (bin: Bin) => {
        if (bin.from < 0 && bin.to > 0) return "var(--muted)";
        return bin.from < 0 === higher ? "var(--bad)" : "var(--good)";
      };
      return {
        height: isNarrow ? 230 : 290,
        marginTop: 26,
        marginLeft: 52,
        marginBottom: 42,
        x: {
          label: `← ${sides[0]}    difference${isNarrow ? "" : ", candidate − baseline"}    ${sides[1]} →`,
          labelAnchor: "center",
          labelArrow: "none",
          ticks: isNarrow ? 5 : 9,
        },
        y: {
          label: root ? "questions, square root scale" : "questions",
          type: root ? "sqrt" : "linear",
          domain: [0, Math.max(1, top)],
          grid: true,
          ticks: 5,
        },
        marks: [
          rectY(bins, {
            x1: "from",
            x2: "to",
            y1: 0,
            y2: "questions",
            fill: tone,
            inset: 0.5,
            title: (bin: Bin) =>
              `${plural(bin.questions, "question")}, ${number(bin.from, format, true)} to ${number(bin.to, format, true)}`,
          }),
          ruleY([0]),
          ruleX([0], { stroke: "var(--text)", strokeDasharray: "3 3" }),
          ...(interval === null
            ? []
            : [ruleY([top * 0.97], { x1: interval.low, x2: interval.high, stroke: "var(--text)", strokeWidth: 3 })]),
          ...(mean === null
            ? []
            : [
                dot([mean], { x: mean, y: top * 0.97, r: 5, fill: "var(--text)", stroke: "var(--back)" }),
                text([mean], {
                  x: label?.x ?? mean,
                  y: top * 0.97,
                  text: [`mean ${number(mean, format, true)}`],
                  textAnchor: label?.anchor ?? "middle",
                  dx: label === null ? 0 : label.anchor === "end" ? -10 : 10,
                  dy: label === null ? -14 : 0,
                  fill: "var(--text)",
                  stroke: "var(--back)",
                  strokeWidth: 4,
                  fontWeight: 600,
                }),
              ]),
        ],
      };
    },
    [bins, highest, root, mean, interval, higher, format],
  );
  if (differences.length === 0) return <p>No question was measured in full by both runs.</p>;
  const better = higher ? comparison.wins : comparison.losses;
  const label = `Histogram of the differences of ${plural(differences.length, "question")}: ${count(better)} above 0, ${count(comparison.ties)} at 0, ${count(comparison.wins + comparison.losses - better)} below; mean ${number(mean, format, true)}, interval ${span(interval, format, true)}.`;
  return (
    <figure class="difference-chart">
      <Chart label={label} options={options} />
      <figcaption class="muted">
        One difference a question (the mean over its repeats) that both runs measured in full; the dot and the bar above
        are their mean and its interval.
        {beyond > 0 && ` ${plural(beyond, "question")} beyond the ends are counted in the outermost bars.`}
      </figcaption>
    </figure>
  );
}
