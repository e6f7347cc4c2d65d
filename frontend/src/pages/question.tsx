/** One question: what was asked, and what each run made of it, side by side. */
import { useLayoutEffect, useMemo } from "preact/hooks";
import { count, plural } from "../format";
import type { Details, QuestionDetails, SampleDetails, Scores } from "../model";
import { Judgements } from "../parts/judgements";
import { useRemembered } from "../parts/remembered";
import { type RunResults, RunScores, Status } from "../parts/run-scores";
import { RunName } from "../parts/runs";
import { SampleFacts } from "../parts/sample-facts";
import { Sources } from "../parts/sources";
import { LongText, Name } from "../parts/text";
import { Loading, NotFound, useParts, useReport } from "../report";
import { linkTo } from "../route";
import "../styles/figures.css";
import "../styles/question.css";

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
  const { value, problem } = useParts<[Scores]>([`scores-${run}`]);
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
  // Who speaks to the computer, or hits keys by accident, must be able to do without keys of one letter (WCAG 2.1.4).
  const [keys, setKeys] = useRemembered("keys", true);
  // Before the next key can come.
  useLayoutEffect(() => {
    if (!keys) return;
    const follow = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const to = event.key === "k" ? previous : event.key === "j" ? next : undefined;
      if (to !== undefined) window.location.hash = to;
    };
    window.addEventListener("keydown", follow);
    return () => window.removeEventListener("keydown", follow);
  }, [previous, next, keys]);
  return (
    <nav class="ways no-print" aria-label="Questions before and after">
      {previous === undefined ? (
        <span class="muted">This is the first question</span>
      ) : (
        <a href={previous} rel="prev" aria-keyshortcuts={keys ? "k" : undefined}>
          ← Previous {keys && <kbd>k</kbd>}
        </a>
      )}
      <span class="muted">
        {count(position + 1)} of {count(asked.length)} in <RunName run={run} />{" "}
        <button type="button" aria-pressed={keys} onClick={() => setKeys(!keys)}>
          Keys j and k: {keys ? "on" : "off"}
        </button>
      </span>
      {next === undefined ? (
        <span class="muted">This is the last question</span>
      ) : (
        <a href={next} rel="next" aria-keyshortcuts={keys ? "j" : undefined}>
          Next {keys && <kbd>j</kbd>} →
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
  const { value, problem } = useParts<[Details]>([`details-${Math.floor(question / per)}`]);
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
          <SampleFacts sample={found.sample} />
          <Runs question={found} texts={details.texts} run={run} position={position} />
        </>
      )}
    </>
  );
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
      <RunScores runs={runs} here={run} />
      <section aria-labelledby="answers">
        <h2 id="answers">{runs.length > 1 ? "Answers, run by run" : "Answer"}</h2>
        <div class="runs" style={{ "--side-by-side": String(runs.length <= 4 ? runs.length : 3) }}>
          {runs.map((one) => (
            <article key={one.run} class={one.run === run ? "here" : undefined} aria-labelledby={`run-${one.run}`}>
              <h3 id={`run-${one.run}`}>
                <RunName run={one.run} />
                {one.run === run && runs.length > 1 && one.samples.length === 1 && (
                  <span class="badge">from the link</span>
                )}
              </h3>
              {one.samples.length === 0 && <p class="muted">This run did not ask the question.</p>}
              {one.samples.map((sample, place) => (
                <Result
                  key={sample.position}
                  sample={sample}
                  texts={texts}
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

function Result(props: { sample: SampleDetails; texts: string[]; repeat: string; isHere: boolean }) {
  const { sample, texts, repeat, isHere } = props;
  const { overview } = useReport();
  const run = overview.runs[sample.run];
  return (
    <div class="result">
      {repeat !== "" && (
        <p class="repeat">
          {repeat} <span class="muted">(number {count(sample.position + 1)} of the run)</span>{" "}
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
      <Sources sources={sample.sources} texts={texts} missed={sample.missed} isKept={run?.keeps_sources ?? false} />
      <Judgements judgements={sample.judgements} isKept={run?.keeps_judgements ?? false} />
    </div>
  );
}
