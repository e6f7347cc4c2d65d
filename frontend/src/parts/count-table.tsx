/** Counts of several kinds, a column a run. */
import type { ComponentChildren } from "preact";
import { count } from "../format";
import { RunName } from "./runs";
import { Scroll } from "./scroll";

export interface CountRow {
  key: string;
  name: ComponentChildren;
  /** In the order of the runs; null where a run has none to count. */
  counts: (number | null)[];
}

export function CountTable({
  label,
  heading,
  runs,
  rows,
  withShares = false,
}: {
  label: string;
  heading: string;
  runs: number[];
  rows: CountRow[];
  /** Show, too, which part of the run's counts each is. */
  withShares?: boolean;
}) {
  const totals = runs.map((_, i) => rows.reduce((sum, { counts }) => sum + (counts[i] ?? 0), 0));
  return (
    <Scroll label={label}>
      <table class="counts">
        <caption class="visually-hidden">{label}</caption>
        <thead>
          <tr>
            <th scope="col">{heading}</th>
            {runs.map((run) => (
              <th key={run} scope="col" class="number">
                <RunName run={run} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, name, counts }) => (
            <tr key={key}>
              <th scope="row">{name}</th>
              {counts.map((many, i) => (
                <td key={runs[i]} class={many === 0 ? "number muted" : "number"}>
                  {many === null ? "-" : count(many)}
                  {withShares && many !== null && (totals[i] ?? 0) > 0 && (
                    <span class="remark muted">{((100 * many) / (totals[i] ?? 1)).toFixed(1)} %</span>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
