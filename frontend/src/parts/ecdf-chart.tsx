/** Which share of each run's scores is at most so much. */
import { axisX, axisY, gridX, gridY, line, pointer, tip } from "@observablehq/plot";
import { useCallback, useMemo } from "preact/hooks";
import { number, plain } from "../format";
import type { Metric, Scores } from "../model";
import { Loading, useParts, useReport } from "../report";
import { Chart, TIP } from "./chart";
import { type Step, steps } from "./ecdf";
import type { Measured } from "./measured";
import { RunName, runColour, runDashes } from "./runs";
import { extent, isLogarithmic, scoreScale, scoreTicks } from "./scale";

export function EcdfChart({ metric, measured }: { metric: Metric; measured: Measured[] }) {
  const { value, problem } = useParts<Scores[]>(measured.map(({ run }) => `scores-${run}`));
  const curves = useMemo(() => {
    const all = measured.map(({ run }, i) => ({ run, steps: steps(value?.[i]?.scores[metric.name] ?? []) }));
    return all.filter((curve) => curve.steps.length > 0);
  }, [value, measured, metric]);
  if (value === undefined) return <Loading problem={problem} />;
  if (curves.length === 0) return null;
  return (
    <>
      <ul class="inline key">
        {measured.map(({ run }) => (
          <li key={run}>
            <RunName run={run} line />
          </li>
        ))}
      </ul>
      <Curves metric={metric} curves={curves} />
    </>
  );
}

function Curves({ metric, curves }: { metric: Metric; curves: { run: number; steps: Step[] }[] }) {
  const { runs } = useReport().overview;
  const options = useCallback(
    (width: number) => {
      const ends = curves.flatMap(({ steps: [first, ...rest] }) => [first?.x, (rest.at(-1) ?? first)?.x]);
      // A scale that is logarithmic has no zero.
      const limits = isLogarithmic(metric) ? [] : (metric.range ?? []);
      const [low, high] = extent([...ends, ...limits]) ?? [0, 1];
      const across = scoreTicks(metric, low, high, width);
      const points = curves.flatMap(({ run, steps }) => steps.map((step) => ({ ...step, run })));
      return {
        height: Math.min(360, 160 + width / 3),
        marginLeft: 44,
        marginRight: 16,
        marginTop: 12,
        marginBottom: 42,
        x: scoreScale(metric, low, high),
        y: { label: null, domain: [0, 100], percent: true },
        marks: [
          gridX({ stroke: "var(--line)", strokeOpacity: 1, ticks: across.ticks }),
          gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: 5 }),
          axisX(across),
          axisY({ ticks: 5, tickFormat: (percent: number) => `${percent} %` }),
          ...curves.map(({ run, steps }) =>
            line([{ x: low, share: 0 }, { x: steps[0]?.x ?? low, share: 0 }, ...steps, { x: high, share: 1 }], {
              x: "x",
              y: "share",
              curve: "step-after",
              stroke: runColour(run),
              strokeWidth: 2,
              strokeDasharray: runDashes(run),
            }),
          ),
          tip(
            points,
            pointer({
              ...TIP,
              x: "x",
              y: "share",
              title: ({ x, share, run }: Step & { run: number }) =>
                `${plain(runs[run]?.label ?? "")}\n` +
                `${(100 * share).toFixed(1)} % are at most ${number(x, metric.format)}`,
            }),
          ),
        ],
      };
    },
    [metric, curves, runs],
  );
  return (
    <Chart
      label={`Share of scores of ${plain(metric.name)} that are at most so much, a line a run. The percentiles are in the table.`}
      options={options}
    />
  );
}
