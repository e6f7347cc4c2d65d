import type { ComponentChildren } from "preact";
import { ABSENT, count, number } from "../format";
import type { Num, SampleDetails } from "../model";
import { useReport } from "../report";
import { linkTo } from "../route";
import { RunName } from "./runs";
import { Scroll } from "./scroll";
import { Name } from "./text";

/** What one run made of the question; several samples where it was repeated. */
export interface RunResults {
  run: number;
  samples: SampleDetails[];
}

/** Everything that is a number, so that runs can be told apart at a glance. */
export function RunScores({ runs, here }: { runs: RunResults[]; here: number }) {
  const { overview } = useReport();
  const asked = runs.filter(({ samples }) => samples.length > 0);
  const metrics = overview.metrics.filter(({ name }) =>
    asked.some(({ samples }) => samples.some(({ scores }) => name in scores)),
  );
  const cell = (run: number, inner: ComponentChildren) => (
    <td key={run} class={`number ${run === here ? "here" : ""}`}>
      {inner}
    </td>
  );
  /** A run's numbers, one a repeat; what there is none of is said once. */
  const cells = (of: (sample: SampleDetails) => Num, format: (value: number) => string, none: string, metric = "") =>
    asked.map(({ run, samples }) => {
      const absent = metric === "" || overview.runs[run]?.metrics[metric] !== undefined ? none : ABSENT;
      const values = samples.map(of);
      if (values.every((value) => value === null)) return cell(run, <span class="muted">{absent}</span>);
      return cell(run, values.map((value) => (value === null ? absent : format(value))).join(", "));
    });
  const facts: [string, (sample: SampleDetails) => Num, (value: number) => string][] = [
    ["Tokens in", (sample) => sample.input_tokens, count],
    ["Tokens out", (sample) => sample.output_tokens, count],
    ["Attempts", (sample) => sample.attempts, count],
  ];
  if (!metrics.some(({ name }) => name === "latency_ms"))
    facts.unshift(["Latency", (sample) => sample.latency_ms, (value) => `${number(value, ".1f")} ms`]);
  const isKnown = (of: (sample: SampleDetails) => Num) =>
    asked.some(({ samples }) => samples.some((sample) => of(sample) !== null));
  return (
    <section aria-labelledby="scores">
      <h2 id="scores">Scores</h2>
      {asked.some(({ samples }) => samples.length > 1) && (
        <p class="muted">The repeats of a run stand one after the other.</p>
      )}
      <Scroll label="Scores by run">
        <table class="by-run scores">
          <caption class="visually-hidden">Status, scores, time and tokens of every run</caption>
          <thead>
            <tr>
              <td />
              {asked.map(({ run }) => (
                <th key={run} scope="col" class={`number ${run === here ? "here" : ""}`}>
                  <RunName run={run} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">Status</th>
              {asked.map(({ run, samples }) => cell(run, <Statuses samples={samples} />))}
            </tr>
            {metrics.map((metric) => (
              <tr key={metric.name}>
                <th scope="row">
                  <a href={linkTo({ page: "metric", metric: metric.name })}>
                    <Name text={metric.name} />
                  </a>
                </th>
                {cells(
                  ({ scores }) => scores[metric.name] ?? null,
                  (score) => number(score, metric.format),
                  "not measured",
                  metric.name,
                )}
              </tr>
            ))}
            {facts
              .filter(([, of]) => isKnown(of))
              .map(([title, of, format]) => (
                <tr key={title}>
                  <th scope="row">{title}</th>
                  {cells(of, format, "not known")}
                </tr>
              ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

const TONES = { successful: "good", errored: "bad", incomplete: "doubt" };
const SIGNS = { successful: "✓", errored: "✗", incomplete: "◐" };

export function Status({ status }: { status: SampleDetails["status"] }) {
  return (
    <span class={TONES[status]}>
      <span aria-hidden="true">{SIGNS[status]}</span> {status}
    </span>
  );
}

/** Each status once, with how many of the repeats have it. */
function Statuses({ samples }: { samples: SampleDetails[] }) {
  const found = [...new Set(samples.map(({ status }) => status))];
  return found.map((status) => (
    <div key={status}>
      {samples.length > 1 && `${samples.filter((sample) => sample.status === status).length} `}
      <Status status={status} />
    </div>
  ));
}
