/** What failed, and what could not be measured at all; that which is alike is together. */
import { useState } from "preact/hooks";
import { count, plural } from "../format";
import type { ErrorGroup } from "../model";
import { CountTable } from "../parts/count-table";
import { ErrorEntry } from "../parts/error-group";
import { NOT_APPLICABLE, reasonMeaning, reasonName, sortedKinds } from "../parts/missing";
import { Name } from "../parts/text";
import { useReport } from "../report";
import "../styles/errors.css";

export function ErrorsPage() {
  const { errors } = useReport().overview;
  const failures = errors.filter(({ kind }) => kind !== NOT_APPLICABLE);
  const unmeasurable = errors.filter(({ kind }) => kind === NOT_APPLICABLE);
  const kinds = sortedKinds(failures.map(({ kind }) => kind));
  return (
    <>
      <h1>Errors</h1>
      {failures.length === 0 ? (
        <p>Nothing failed: every question was answered, and every metric gave a score that it could give.</p>
      ) : (
        <>
          <Counts failures={failures} kinds={kinds} />
          {kinds.map((kind) => (
            <Kind key={kind} kind={kind} groups={failures.filter((group) => group.kind === kind)} />
          ))}
        </>
      )}
      {unmeasurable.length > 0 && <Kind kind={NOT_APPLICABLE} groups={unmeasurable} />}
    </>
  );
}

function Counts({ failures, kinds }: { failures: ErrorGroup[]; kinds: string[] }) {
  const { runs } = useReport().overview;
  return (
    <CountTable
      label="Failures by kind and run"
      columns={kinds.map((kind) => ({ key: kind, heading: <Name text={reasonName(kind)} /> }))}
      rows={runs.map((_, run) => ({
        run,
        counts: Object.fromEntries(kinds.map((kind) => [kind, timesIn(failures, kind, run)])),
      }))}
    />
  );
}

function timesIn(groups: ErrorGroup[], kind: string, run: number): number {
  return groups.reduce((sum, group) => sum + (group.kind === kind ? (group.counts[run] ?? 0) : 0), 0);
}

const SHOWN_AT_FIRST = 50;

function Kind({ kind, groups }: { kind: string; groups: ErrorGroup[] }) {
  const [all, setAll] = useState(false);
  const times = groups.flatMap(({ counts }) => counts).reduce((sum, more) => sum + more, 0);
  const shown = all ? groups : groups.slice(0, SHOWN_AT_FIRST);
  return (
    <section>
      <h2>
        {kind === NOT_APPLICABLE ? "Not measurable" : <Name text={capital(reasonName(kind))} />}
        <span class="muted note">{count(times)} times</span>
      </h2>
      <p class="muted">{reasonMeaning(kind)}</p>
      {shown.map((group) => (
        <ErrorEntry key={JSON.stringify([group.metric, group.message])} group={group} />
      ))}
      {shown.length < groups.length && (
        <button type="button" class="no-print" onClick={() => setAll(true)}>
          Show all {plural(groups.length, "group")}
        </button>
      )}
    </section>
  );
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
