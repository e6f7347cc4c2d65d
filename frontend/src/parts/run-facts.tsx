/** When each run was, how long it took, what came of it and what it cost. */
import { count, duration, moment } from "../format";
import type { Run } from "../model";
import { RunName } from "./runs";
import { Scroll } from "./scroll";
import { numbers, TableHead, words } from "./table-head";
import { Name } from "./text";

export function RunFacts({ runs }: { runs: Run[] }) {
  const hasSpending = runs.some((run) => run.spent !== "");
  return (
    <Scroll label="Facts about the runs">
      <table class="by-run run-facts">
        <caption class="visually-hidden">When each run was, how long it took, and what came of its questions</caption>
        <TableHead
          columns={[
            ...[words("Run"), words("Started")],
            ...numbers("Took", "Questions", "Successful", "Incomplete", "Errored"),
            ...(hasSpending ? [words("Spent")] : []),
          ]}
        />
        <tbody>
          {runs.map((run, index) => (
            <tr key={run.label}>
              <th scope="row">
                <RunName run={index} whole />
                {run.partial && (
                  <span class="doubt remark">
                    partial: {count(run.partial.ended)} of {count(run.partial.total)} questions have ended
                  </span>
                )}
              </th>
              <td class="moment">
                <time dateTime={run.created_at}>{moment(run.created_at)}</time>
              </td>
              <td class="number">{duration(run.duration_s)}</td>
              <td class="number">{count(run.samples)}</td>
              <td class="number">{count(run.status.successful)}</td>
              <td class="number">
                <Trouble many={run.status.incomplete} look="doubt" />
              </td>
              <td class="number">
                <Trouble many={run.status.errored} look="bad" />
              </td>
              {hasSpending && (
                <td class="spent">
                  {run.spent === "" ? <span class="muted">not known</span> : <Name text={run.spent} />}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Trouble({ many, look }: { many: number; look: "doubt" | "bad" }) {
  return many === 0 ? <span class="muted">0</span> : <strong class={look}>{count(many)}</strong>;
}
