/** One question: what was asked, and what each run made of it, side by side. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { Loading, NotFound, useParts, useReport } from "../app";
import { ABSENT, count, number, plural } from "../format";
import type { Details, Num, QuestionDetails, SampleDetails, Scores } from "../model";
import { Judgements } from "../parts/judgements";
import { RunName } from "../parts/runs";
import { Scroll } from "../parts/scroll";
import { Sources } from "../parts/sources";
import { LongText, Name } from "../parts/text";
import { linkTo } from "../route";
import "../styles/question.css";
import "../styles/figures.css";

export function QuestionPage({ run: label, number: place }: { run: string; number: number }) {
  const { overview } = useReport();
  const run = overview.runs.findIndex((one) => one.label === label);
  if (run === -1)
    return (
      <NotFound>
        There is no run <Name text={label} />.
      </NotFound>
    );
  return <Located run={run} position={place - 1} />;
}

function Located({ run, position }: { run: number; position: number }) {
  const { overview } = useReport();
  const { value, problem } = useParts<Scores>([`scores-${run}`]);
  const asked = value?.[0]?.question;
  if (asked === undefined) return <Loading problem={problem} />;
  const question = asked[position];
  if (question === undefined)
    return (
      <NotFound>
        <RunName run={run} /> has {plural(asked.length, "sample")}: there is no number {count(position + 1)}.
      </NotFound>
    );
  return (
    <>
      <Ways run={run} position={position} asked={asked} />
      <Found run={run} position={position} question={question} per={overview.questions_per_part} />
    </>
  );
}

/** The ways to the questions before and after, by links and by keys. */
function Ways({ run, position, asked }: { run: number; position: number; asked: number[] }) {
  const { overview } = useReport();
  const label = overview.runs[run]?.label ?? "";
  const [before, after] = useMemo(() => neighbours(asked, position), [asked, position]);
  const address = (at: number | null) =>
    at === null ? undefined : linkTo({ page: "question", run: label, number: at + 1 });
  const [previous, next] = [address(before), address(after)];
  useEffect(() => {
    const follow = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const to = event.key === "k" ? previous : event.key === "j" ? next : undefined;
      if (to !== undefined) window.location.hash = to;
    };
    window.addEventListener("keydown", follow);
    return () => window.removeEventListener("keydown", follow);
  }, [previous, next]);
  return (
    <nav class="ways no-print" aria-label="Questions before and after">
      {previous === undefined ? (
        <span class="muted">This is the first question</span>
      ) : (
        <a href={previous} rel="prev" aria-keyshortcuts="k">
          ← Previous <kbd>k</kbd>
        </a>
      )}
      <span class="muted">
        {count(position + 1)} of {count(asked.length)} in <RunName run={run} />
      </span>
      {next === undefined ? (
        <span class="muted">This is the last question</span>
      ) : (
        <a href={next} rel="next" aria-keyshortcuts="j">
          Next <kbd>j</kbd> →
        </a>
      )}
    </nav>
  );
}

/** Where the nearest other questions stand; repeats of this one are on this page already. */
function neighbours(asked: number[], position: number): [number | null, number | null] {
  const here = asked[position];
  let [before, after] = [position - 1, position + 1];
  while (before >= 0 && asked[before] === here) before -= 1;
  while (after < asked.length && asked[after] === here) after += 1;
  return [before >= 0 ? before : null, after < asked.length ? after : null];
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
  );
}

function Found(props: { run: number; position: number; question: number; per: number }) {
  const { run, position, question, per } = props;
  const { value, problem } = useParts<Details>([`details-${Math.floor(question / per)}`]);
  const details = value?.[0];
  const found = details?.questions[question % per];
  return (
    <>
      <h1>Question {count(question + 1)}</h1>
      {details === undefined ? (
        <Loading problem={problem} />
      ) : found === undefined ? (
        <Loading problem="This report has no details of the question: the file is damaged or was cut short." />
      ) : (
        <>
          <div class="asked">
            <LongText text={found.text} />
          </div>
          <Sample sample={found.sample} />
          <Runs question={found} texts={details.texts} run={run} position={position} />
        </>
      )}
    </>
  );
}

/** What the sample set knows of the right answer. */
function Sample({ sample }: { sample: QuestionDetails["sample"] }) {
  if (sample === null) return null;
  const ids = Object.entries(sample.relevant_ids);
  const facts: [string, ComponentChildren][] = [];
  if (sample.reference_answer !== null)
    facts.push(["Reference answer", <LongText key="answer" text={sample.reference_answer} />]);
  if (ids.length > 0)
    facts.push([
      "Relevant",
      <ul key="ids" class="plain">
        {ids.map(([id, gain]) => (
          <li key={id}>
            <Name text={id} />
            {gain !== 1 && <span class="muted"> (gain {gain})</span>}
          </li>
        ))}
      </ul>,
    ]);
  if (sample.relevant_spans.length > 0)
    facts.push([
      "Relevant spans",
      <ul key="spans" class="plain">
        {sample.relevant_spans.map(([uri, start, end]) => (
          <li key={`${uri} ${start} ${end}`}>
            <Name text={uri} />{" "}
            <span class="muted">
              characters {count(start)} to {count(end)}
            </span>
          </li>
        ))}
      </ul>,
    ]);
  return (
    <section aria-labelledby="sample">
      <h2 id="sample">What the sample set says</h2>
      <dl class="facts">
        {facts.map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <dl class="figures">
        <div>
          <dt>Sample</dt>
          <dd>
            <Name text={sample.id} />
          </dd>
        </div>
        {Object.entries(sample.metadata).map(([key, value]) => (
          <div key={key}>
            <dt>
              <Name text={key} />
            </dt>
            <dd>
              <Name text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

interface RunResults {
  run: number;
  samples: SampleDetails[];
}

function Runs(props: { question: QuestionDetails; texts: string[]; run: number; position: number }) {
  const { question, texts, run, position } = props;
  const { overview } = useReport();
  // The run of the address comes first; the others keep their order.
  const runs = useMemo(() => {
    const all = overview.runs.map(
      (_, index): RunResults => ({ run: index, samples: question.results.filter((result) => result.run === index) }),
    );
    return [...all.filter((one) => one.run === run), ...all.filter((one) => one.run !== run)];
  }, [overview.runs, question, run]);
  return (
    <>
      <ScoreTable runs={runs} here={run} />
      <section aria-labelledby="answers">
        <h2 id="answers">{runs.length > 1 ? "Answers, run by run" : "Answer"}</h2>
        <div class="runs" style={{ "--side-by-side": String(runs.length <= 4 ? runs.length : 3) }}>
          {runs.map((one) => (
            <article key={one.run} class={one.run === run ? "here" : undefined} aria-labelledby={`run-${one.run}`}>
              <h3 id={`run-${one.run}`}>
                <RunName run={one.run} />
                {one.run === run && runs.length > 1 && <span class="badge">from the link</span>}
              </h3>
              {one.samples.length === 0 && <p class="muted">This run did not ask the question.</p>}
              {one.samples.map((sample, place) => (
                <Result
                  key={sample.position}
                  sample={sample}
                  texts={texts}
                  relevant={question.sample?.relevant_ids ?? {}}
                  repeat={one.samples.length > 1 ? `Repeat ${place + 1} of ${one.samples.length}` : ""}
                  isHere={one.run === run && sample.position === position}
                />
              ))}
            </article>
          ))}
        </div>
      </section>
    </>
  );
}

/** Everything that is a number, so that runs can be told apart at a glance. */
function ScoreTable({ runs, here }: { runs: RunResults[]; here: number }) {
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
        <table class="scores">
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

function Status({ status }: { status: SampleDetails["status"] }) {
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

function Result(props: {
  sample: SampleDetails;
  texts: string[];
  relevant: Record<string, number>;
  repeat: string;
  isHere: boolean;
}) {
  const { sample, texts, relevant, repeat, isHere } = props;
  const { overview } = useReport();
  const run = overview.runs[sample.run];
  return (
    <div class="result">
      {repeat !== "" && (
        <p class="repeat">
          {repeat} <span class="muted">(number {count(sample.position + 1)} of the run)</span>
          {isHere && <span class="badge">from the link</span>}
        </p>
      )}
      <p>
        <Status status={sample.status} />
      </p>
      {sample.error !== null && (
        <div class={`error ${sample.status === "errored" ? "bad" : "doubt"}`}>
          <LongText text={sample.error} />
        </div>
      )}
      {sample.answer !== null ? (
        <div class="answer">
          <LongText text={sample.answer} />
        </div>
      ) : (
        <p class="muted">{sample.status === "errored" ? "No answer." : "No answer: only sources were asked for."}</p>
      )}
      <Sources sources={sample.sources} texts={texts} relevant={relevant} isKept={run?.keeps_sources ?? false} />
      <Judgements judgements={sample.judgements} isKept={run?.keeps_judgements ?? false} />
    </div>
  );
}
