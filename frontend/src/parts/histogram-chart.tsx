/** How the scores of each run spread, one below the other over one axis. */
import { axisX, rect, rectY, ruleX, ruleY, text } from "@observablehq/plot";
import { useCallback } from "preact/hooks";
import { number, plain } from "../format";
import type { Evidence, Metric } from "../model";
import { useReport } from "../report";
import { Chart } from "./chart";
import type { Measured } from "./measured";
import { runColour } from "./runs";
import { scoreScale, scoreTicks } from "./scale";

const FACET_HEIGHT = 86;

export function HistogramChart({ metric, measured }: { metric: Metric; measured: Measured[] }) {
  const { runs } = useReport().overview;
  const options = useCallback(
    (width: number) => {
      // Shares, for runs may have measured more or less.
      const bars = measured.flatMap(({ run, evidence }) => {
        const every = scoresIn(evidence);
        return evidence.histogram.map((scores, bin) => ({
          run,
          low: metric.bins[bin],
          high: metric.bins[bin + 1],
          share: scores / every,
        }));
      });
      const means = measured.map(({ run, evidence }) => ({ run, mean: evidence.mean, ...evidence.interval }));
      const names = measured.map(({ run }) => ({ run, name: plain(runs[run]?.label ?? "", width > 560 ? 80 : 40) }));
      const [low, high] = [metric.bins[0] ?? 0, metric.bins.at(-1) ?? 1];
      return {
        height: measured.length * FACET_HEIGHT + 58,
        marginLeft: 12,
        marginRight: 16,
        marginTop: 22,
        marginBottom: 42,
        x: scoreScale(metric, low, high),
        y: { axis: null },
        fy: { axis: null, domain: measured.map(({ run }) => run), padding: 0.3 },
        marks: [
          axisX(scoreTicks(metric, low, high, width)),
          rect(
            means.filter(({ low }) => low !== undefined),
            { x1: "low", x2: "high", fy: "run", fill: "currentColor", fillOpacity: 0.14 },
          ),
          rectY(bars, {
            x1: "low",
            x2: "high",
            y: "share",
            fy: "run",
            insetLeft: 0.5,
            insetRight: 0.5,
            fill: ({ run }: { run: number }) => runColour(run),
            fillOpacity: 0.85,
          }),
          ruleY([0], { stroke: "var(--muted)" }),
          ruleX(
            means.filter(({ mean }) => mean !== null),
            { x: "mean", fy: "run", stroke: "currentColor", strokeWidth: 1.5, insetTop: -4 },
          ),
          text(names, { text: "name", fy: "run", frameAnchor: "top-left", dy: -16, fontWeight: 600 }),
        ],
      };
    },
    [metric, measured, runs],
  );
  const means = measured.map(
    ({ run, evidence }) => `${plain(runs[run]?.label ?? "", 40)} ${number(evidence.mean, metric.format)}`,
  );
  return (
    <Chart
      label={`Distributions of ${plain(metric.name)}, one a run, their means marked: ${means.join(", ")}.`}
      options={options}
    />
  );
}

/** How many scores the histogram counts: none where only their summary is known. */
export function scoresIn({ histogram }: Evidence): number {
  return histogram.reduce((sum, scores) => sum + scores, 0);
}
