/** Failures that are alike: how often they were, what was said, and on which questions. */
import { useState } from "preact/hooks";
import { count, plain, plural } from "../format";
import type { ErrorGroup, Questions, Scores } from "../model";
import { Loading, useParts, useReport } from "../report";
import { linkTo } from "../route";
import { RunName } from "./runs";
import { LongText, Name } from "./text";

const HEADLINE_CHARACTERS = 160;

export function ErrorEntry({ group }: { group: ErrorGroup }) {
  const [opened, setOpened] = useState(false);
  const times = group.counts.reduce((sum, more) => sum + more, 0);
  const runs = group.counts.flatMap((many, run) => (many > 0 ? [{ run, many }] : []));
  return (
    <details class="error-group" onToggle={(event) => event.currentTarget.open && setOpened(true)}>
      <summary>
        <span class="times">{count(times)} ×</span>
        <span class="headline">
          {group.metric !== null && (
            <span class="of-metric">
              <Name text={group.metric} />:{" "}
            </span>
          )}
          <Name text={cut(group.message)} />
          <span class="inline by-runs muted">
            {runs.map(({ run, many }) => (
              <span key={run}>
                <RunName run={run} />: {count(many)}
              </span>
            ))}
          </span>
        </span>
      </summary>
      {/* What nobody has opened loads no scores. */}
      {opened && <Opened group={group} times={times} />}
    </details>
  );
}

function cut(message: string): string {
  const line = plain(message, HEADLINE_CHARACTERS);
  return line === "" ? "no message" : line;
}

function Opened({ group, times }: { group: ErrorGroup; times: number }) {
  return (
    <div class="opened">
      <h3>Message{times > 1 && " of the first"}</h3>
      <LongText text={group.message} />
      <h3>
        {group.examples.length < times
          ? `${plural(group.examples.length, "example")} of ${count(times)}`
          : plural(group.examples.length, "question")}
      </h3>
      <Examples examples={group.examples} />
    </div>
  );
}

function Examples({ examples }: { examples: ErrorGroup["examples"] }) {
  const { overview } = useReport();
  const runs = [...new Set(examples.map(([run]) => run))];
  const { value, problem } = useParts<[Questions, ...Scores[]]>(["questions", ...runs.map((run) => `scores-${run}`)]);
  if (value === undefined) return <Loading problem={problem} />;
  const [questions, ...scores] = value;
  const asked = (run: number, position: number) => {
    const question = scores[runs.indexOf(run)]?.question[position];
    return questions.texts[question ?? -1] ?? "";
  };
  return (
    <ul class="examples">
      {examples.map(([run, position]) => (
        <li key={`${run} ${position}`}>
          <RunName run={run} />
          <a href={linkTo({ page: "question", run: overview.runs[run]?.label ?? "", number: position + 1 })}>
            {count(position + 1)}. <Name text={asked(run, position)} />
          </a>
        </li>
      ))}
    </ul>
  );
}
