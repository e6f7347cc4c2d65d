/** How often there was what in each run. */
import type { ComponentChildren } from "preact";
import { count } from "../format";
import { RunName } from "./runs";
import { Scroll } from "./scroll";
import { numbers, TableHead, words } from "./table-head";

interface Counted {
  run: number;
  /** By the key of the column; what is not there is 0. */
  counts: Record<string, number>;
}

export function CountTable({
  label,
  columns,
  rows,
  withShares = false,
}: {
  label: string;
  columns: { key: string; heading: ComponentChildren }[];
  rows: Counted[];
  /** Show, too, which part of the run's counts each is. */
  withShares?: boolean;
}) {
  return (
    <Scroll label={label}>
      <table class="by-run">
        <caption class="visually-hidden">{label}</caption>
        <TableHead columns={[words("Run"), ...numbers(...columns.map(({ heading }) => heading))]} />
        <tbody>
          {rows.map(({ run, counts }) => {
            const every = columns.reduce((sum, { key }) => sum + (counts[key] ?? 0), 0);
            return (
              <tr key={run}>
                <th scope="row">
                  <RunName run={run} />
                </th>
                {columns.map(({ key }) => (
                  <Cell key={key} many={counts[key] ?? 0} every={withShares ? every : 0} />
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroll>
  );
}

function Cell({ many, every }: { many: number; every: number }) {
  return (
    <td class={many === 0 ? "number muted" : "number"}>
      {count(many)}
      {every > 0 && <span class="remark muted">{((100 * many) / every).toFixed(1)} %</span>}
    </td>
  );
}
