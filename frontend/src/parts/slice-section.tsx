/** A metric's means, taken apart by what is known about the questions. */
import { useMemo } from "preact/hooks";
import { ABSENT, count, number, percent, plain, plural, span } from "../format";
import type { Metric, Slices } from "../model";
import { IntervalChart } from "./interval-chart";
import { RunName } from "./runs";
import { Scroll } from "./scroll";
import { numbers, TableHead, words } from "./table-head";
import { Name } from "./text";

export function SliceSection({ slices, metric, runs }: { slices: Slices; metric: Metric; runs: number[] }) {
  const rows = useMemo(
    () =>
      slices.groups.flatMap(({ name, runs: every }) =>
        runs.map((run) => ({ run, group: name, mean: null, interval: null, ...every[run]?.[metric.name] })),
      ),
    [slices, metric, runs],
  );
  return (
    <section>
      <h3>
        By <Name text={slices.key} />
      </h3>
      <ul class="inline key">
        {runs.map((run) => (
          <li key={run}>
            <RunName run={run} />
          </li>
        ))}
      </ul>
      <div class="means-chart">
        <IntervalChart
          metric={metric}
          rows={rows}
          label={`Means of ${plain(metric.name)} with intervals by ${plain(slices.key)}, a mark a run. The numbers are in the table.`}
        />
      </div>
      <Scroll label={`Means by ${plain(slices.key)}`}>
        <table class="by-run">
          <caption class="visually-hidden">Mean, interval and coverage of every run in every group</caption>
          <TableHead columns={[words("Run"), ...numbers("Mean", "95 % interval", "n", "Coverage")]} />
          {slices.groups.map((group) => (
            <tbody key={group.name}>
              <tr class="group">
                <th scope="rowgroup" colSpan={5}>
                  <Name text={group.name} />
                  <span class="muted note">{plural(group.questions, "question")}</span>
                </th>
              </tr>
              {runs.map((run) => {
                const of = group.runs[run]?.[metric.name];
                return (
                  <tr key={run}>
                    <th scope="row">
                      <RunName run={run} />
                    </th>
                    {of === undefined ? (
                      <td colSpan={4} class="muted">
                        {group.runs[run] ? "not measured" : "none of these questions"}
                      </td>
                    ) : (
                      <>
                        <td class="number mean">{number(of.mean, metric.format)}</td>
                        <td class="number">{span(of.interval, metric.format)}</td>
                        <td class="number">{count(of.questions)}</td>
                        <td class="number">
                          {of.share === null ? (
                            ABSENT
                          ) : of.share < 1 ? (
                            <span class="doubt lacking">
                              {percent(of.share)}
                              <span class="remark">some missing</span>
                            </span>
                          ) : (
                            percent(of.share)
                          )}
                        </td>
                      </>
                    )}
                  </tr>
                );
              })}
            </tbody>
          ))}
        </table>
      </Scroll>
    </section>
  );
}
