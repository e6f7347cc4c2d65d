/** A metric's scores in numbers, a row a run. */
import { bounds, count, number, span } from "../format";
import type { Evidence, Metric } from "../model";
import type { Measured } from "./measured";
import { BoundsLegend, CoverageShare, lacks } from "./missing";
import { RunName } from "./runs";
import { Scroll } from "./scroll";
import { numbers, TableHead, words } from "./table-head";

export function SummaryTable({ metric, measured }: { metric: Metric; measured: Measured[] }) {
  const { format } = metric;
  const withBounds = measured.some(({ evidence }) => lacks(evidence.coverage));
  const withOwn = measured.some(({ evidence }) => aggregatesItself(evidence));
  const headings = ["Mean", "95 % interval", "n", "Coverage", ...(withBounds ? ["Worst..best"] : [])];
  headings.push("Median", "Std", "Min", "Max", "Scores", "Missing", ...(withOwn ? ["Own aggregate"] : []));
  return (
    <>
      <Scroll label="Summary of every run">
        <table class="by-run">
          <caption class="visually-hidden">Mean, interval, coverage and spread of every run</caption>
          <TableHead columns={[words("Run"), ...numbers(...headings)]} />
          <tbody>
            {measured.map(({ run, evidence }) => {
              const { summary, coverage } = evidence;
              const of = (value: number) => number(summary.count === 0 ? null : value, format);
              return (
                <tr key={run}>
                  <th scope="row">
                    <RunName run={run} />
                  </th>
                  <td class="number mean">{number(evidence.mean, format)}</td>
                  <td class="number">{span(evidence.interval, format)}</td>
                  <td class="number">{count(evidence.questions)}</td>
                  <td class="number">
                    <CoverageShare coverage={coverage} />
                  </td>
                  {withBounds && <td class="number">{lacks(evidence.coverage) && bounds(evidence.bounds, format)}</td>}
                  <td class="number">{of(summary.median)}</td>
                  <td class="number">{of(summary.std)}</td>
                  <td class="number">{of(summary.min)}</td>
                  <td class="number">{of(summary.max)}</td>
                  <td class="number">{count(summary.count)}</td>
                  <td class="number">{count(summary.missing)}</td>
                  {withOwn && <td class="number">{aggregatesItself(evidence) && of(summary.mean)}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {withBounds && <BoundsLegend />}
    </>
  );
}

const SHOWN = ["50", "90", "95", "99"];
const FEWEST_FOR_P99 = 100;

export function PercentileTable({ metric, measured }: { metric: Metric; measured: Measured[] }) {
  const isFew = ({ summary }: Evidence) => summary.count > 0 && summary.count < FEWEST_FOR_P99;
  return (
    <>
      <Scroll label="Percentiles of every run">
        <table class="by-run">
          <caption class="visually-hidden">Percentiles of every run, with their 95 % intervals</caption>
          <TableHead columns={[words("Run"), ...numbers(...SHOWN.map((name) => `p${name}`))]} />
          <tbody>
            {measured.map(({ run, evidence }) => (
              <tr key={run}>
                <th scope="row">
                  <RunName run={run} />
                </th>
                {SHOWN.map((name) => (
                  <td key={name} class="number">
                    {evidence.summary.count === 0 ? (
                      "-"
                    ) : (
                      <>
                        {number(evidence.summary.percentiles[`p${name}`], metric.format)}
                        {name === "99" && isFew(evidence) && <sup class="doubt">few</sup>}
                        <span class="remark muted">
                          {evidence.percentiles[name] ? span(evidence.percentiles[name], metric.format) : "no interval"}
                        </span>
                      </>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="muted legend">
        Below each percentile is its 95 % interval; "no interval": there are too few scores to bound it.
        {measured.some(({ evidence }) => isFew(evidence)) &&
          ` "few": a p99 of fewer than ${FEWEST_FOR_P99} scores is little more than the highest of them.`}
      </p>
    </>
  );
}

/** Whether the metric's aggregate is another than the mean of the scores. */
function aggregatesItself({ mean, summary }: Evidence): boolean {
  return mean !== null && summary.count > 0 && Math.abs(mean - summary.mean) > 1e-9 * Math.abs(mean);
}
