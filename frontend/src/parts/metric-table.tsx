/** Every run's numbers for every metric. */
import { bounds, count, number, span } from "../format";
import type { Evidence, Metric, Run } from "../model";
import { linkTo } from "../route";
import { measuredBy } from "./measured";
import { BoundsLegend, CoverageShare, lacks } from "./missing";
import { RunName } from "./runs";
import { Scroll } from "./scroll";
import { SparkAxis, Sparkline, Strip, StripAxis, stripScale } from "./small-charts";
import { numbers, TableHead, words } from "./table-head";
import { Name } from "./text";

export function MetricTable({ metrics, runs }: { metrics: Metric[]; runs: Run[] }) {
  const every = runs.flatMap((run) => Object.values(run.metrics));
  const withBounds = every.some(({ coverage }) => lacks(coverage));
  return (
    <>
      <Scroll label="Metrics of every run">
        <table class="by-run metric-table">
          <caption class="visually-hidden">
            Mean, interval, coverage and distribution of every run, metric by metric
          </caption>
          <TableHead
            columns={[
              words("Run"),
              ...numbers("Mean", "95 % interval"),
              words("Mean and interval"),
              ...numbers("n", "Coverage", ...(withBounds ? ["Worst..best"] : []), "p50", "p95"),
              words("Distribution"),
            ]}
          />
          {metrics.map((metric) => (
            <MetricRows key={metric.name} metric={metric} runs={runs} withBounds={withBounds} />
          ))}
        </table>
      </Scroll>
      {withBounds && <BoundsLegend />}
    </>
  );
}

function MetricRows({ metric, runs, withBounds }: { metric: Metric; runs: Run[]; withBounds: boolean }) {
  const rows = measuredBy(runs, metric.name);
  const scale = stripScale(rows.map(({ evidence }) => evidence));
  const { format } = metric;
  return (
    <tbody>
      <tr class="group">
        <th scope="rowgroup" colSpan={3}>
          <a href={linkTo({ page: "metric", metric: metric.name })}>
            <Name text={metric.name} />
          </a>{" "}
          {!metric.higher_is_better && <span class="muted note">lower is better</span>}
        </th>
        <td class="strip-cell">{scale && <StripAxis scale={scale} />}</td>
        <td colSpan={withBounds ? 5 : 4} />
        <td>
          <SparkAxis bins={metric.bins} />
        </td>
      </tr>
      {rows.map(({ run, evidence }) => (
        <tr key={run}>
          <th scope="row">
            <RunName run={run} />
          </th>
          <td class="number mean">{number(evidence.mean, format)}</td>
          <td class="number">{span(evidence.interval, format)}</td>
          <td class="strip-cell">{scale && <Strip run={run} evidence={evidence} scale={scale} />}</td>
          <td class="number">{count(evidence.questions)}</td>
          <td class="number">
            <CoverageShare coverage={evidence.coverage} />
          </td>
          {withBounds && <td class="number">{lacks(evidence.coverage) && bounds(evidence.bounds, format)}</td>}
          <td class="number">{percentile(evidence, "p50", format)}</td>
          <td class="number">{percentile(evidence, "p95", format)}</td>
          <td>
            <Sparkline run={run} evidence={evidence} metric={metric} />
          </td>
        </tr>
      ))}
    </tbody>
  );
}

function percentile({ summary }: Evidence, name: string, format: string): string {
  return number(summary.count === 0 ? null : summary.percentiles[name], format);
}
