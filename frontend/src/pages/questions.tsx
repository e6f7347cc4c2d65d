/** Every question that any run asked, and what became of it. */
import type { ComponentChildren } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { number, plain } from "../format";
import type { Metric, Num, Questions, Scores } from "../model";
import { firstPositions, known, scoresByQuestion } from "../parts/by-question";
import { Choice } from "../parts/choice";
import { QuestionTable } from "../parts/question-table";
import { useRemembered } from "../parts/remembered";
import { RunMark } from "../parts/runs";
import type { Column } from "../parts/virtual-table";
import { Loading, useParts, useReport } from "../report";
import { linkTo } from "../route";

export function QuestionsPage() {
  const { overview } = useReport();
  const [metricName, setMetricName] = useRemembered("questions metric", overview.metrics[0]?.name ?? "");
  const names = ["questions", ...overview.runs.map((_, run) => `scores-${run}`)];
  const { value, problem } = useParts<[Questions, ...Scores[]]>(names);
  const [questions, scores] = useMemo(() => {
    const [first, ...others] = value ?? [];
    return [first, others] as const;
  }, [value]);
  const metric = overview.metrics.find(({ name }) => name === metricName) ?? overview.metrics[0];
  return (
    <>
      <h1>Questions</h1>
      {questions === undefined ? (
        <Loading problem={problem} />
      ) : (
        <AllQuestions texts={questions.texts} runs={scores} metric={metric}>
          {metric !== undefined && (
            <Choice
              label="Scores by"
              names={overview.metrics.map(({ name }) => name)}
              chosen={metric.name}
              onChoose={setMetricName}
            />
          )}
        </AllQuestions>
      )}
    </>
  );
}

const KINDS = [
  { key: "e", word: "errored" },
  { key: "i", word: "incomplete" },
  { key: "n", word: "not measured" },
  { key: "s", word: "measured wherever asked" },
] as const;

/** What one run made of each question. */
interface RunResults {
  first: Int32Array;
  means: Float64Array;
  /** The worst of its repeats: a letter of `Scores.status`, or empty where it was not asked. */
  status: string[];
}

const BADNESS = "sie";

function statusByQuestion(run: Scores, questions: number): string[] {
  const found = new Array<string>(questions).fill("");
  run.question.forEach((question, position) => {
    const status = run.status[position] ?? "s";
    if (BADNESS.indexOf(status) > BADNESS.indexOf(found[question] || "s") || found[question] === "")
      found[question] = status;
  });
  return found;
}

interface Props {
  texts: string[];
  runs: Scores[];
  metric: Metric | undefined;
  /** The choice of the metric. */
  children: ComponentChildren;
}

function AllQuestions({ texts, runs, metric, children }: Props) {
  const { overview } = useReport();
  const results = useMemo(
    () =>
      runs.map(
        (run): RunResults => ({
          first: firstPositions(run, texts.length),
          means: scoresByQuestion(run, metric?.name ?? "", texts.length).means,
          status: statusByQuestion(run, texts.length),
        }),
      ),
    [runs, metric, texts],
  );
  const kindsOf = useMemo(() => texts.map((_, question) => lettersOf(results, question)), [texts, results]);
  const kinds = useMemo(
    () => KINDS.map((kind) => ({ ...kind, count: kindsOf.filter((found) => found.includes(kind.key)).length })),
    [kindsOf],
  );
  const isOf = useCallback((question: number, kind: string) => kindsOf[question]?.includes(kind) ?? false, [kindsOf]);
  const columns = useMemo(
    () =>
      results.map(
        (result, run): Column => ({
          ...runColumn(result, run, overview.runs[run]?.label ?? "", metric),
          width: results.length <= 3 ? 11 : results.length <= 6 ? 8 : 7,
        }),
      ),
    [results, metric, overview.runs],
  );
  const href = (question: number) => {
    const run = results.findIndex(({ first }) => (first[question] ?? -1) >= 0);
    const number = 1 + (results[run]?.first[question] ?? 0);
    return linkTo({ page: "question", run: overview.runs[run]?.label ?? "", number });
  };
  return (
    <>
      <QuestionTable
        name="questions"
        label={`Questions with the score that each run has by ${plain(metric?.name ?? "no metric")}`}
        texts={texts}
        legend="Show only, in any run"
        kinds={kinds}
        isOf={isOf}
        textWidth={20}
        columns={columns}
        href={href}
      >
        {children}
      </QuestionTable>
      {kinds.some(({ key, count }) => key === "i" && count > 0) && (
        <p class="muted">
          <span class="doubt">◐</span> incomplete: answered, but some other metric was not measured.
        </p>
      )}
    </>
  );
}

/** Keys of `KINDS`; a question may be of several: errored in one run, not measured in another. */
function lettersOf(results: RunResults[], question: number): string {
  let found = "";
  for (const { status, means } of results) {
    const letter = status[question] ?? "";
    if ((letter === "e" || letter === "i") && !found.includes(letter)) found += letter;
    if (letter !== "" && letter !== "e" && Number.isNaN(means[question]) && !found.includes("n")) found += "n";
  }
  return found === "" ? "s" : found;
}

function runColumn(result: RunResults, run: number, label: string, metric: Metric | undefined): Omit<Column, "width"> {
  const score = (question: number): Num => known(result.means[question]);
  return {
    key: `run ${run}`,
    title: plain(label),
    mark: <RunMark run={run} />,
    numeric: true,
    order: score,
    cell: (question) => {
      const status = result.status[question];
      if (status === "") return <span class="muted">not asked</span>;
      if (status === "e") return <span class="bad">errored</span>;
      const value = score(question);
      if (value === null) return <span class="muted">not measured</span>;
      const shown = number(value, metric?.format ?? ".3f");
      return status === "i" ? (
        <>
          <Incomplete /> {shown}
        </>
      ) : (
        shown
      );
    },
  };
}

/** Goes with a score: some other metric has none. */
function Incomplete() {
  return (
    <span class="doubt" title="incomplete: some other metric was not measured">
      <span aria-hidden="true">◐</span>
      <span class="visually-hidden">incomplete</span>
    </span>
  );
}
