/** Every question that any run asked, and what became of it. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { number, plain } from "../format";
import type { Metric, Num, Questions, Scores } from "../model";
import { firstPositions, known, scoresByQuestion } from "../parts/by-question";
import { Choice } from "../parts/choice";
import { Search, Shown, ShowOnly, useWords } from "../parts/filters";
import { useRemembered } from "../parts/remembered";
import { RunMark } from "../parts/runs";
import { Name } from "../parts/text";
import { type Column, VirtualTable } from "../parts/virtual-table";
import { Loading, useParts, useReport } from "../report";
import { linkTo } from "../route";

export function QuestionsPage() {
  const { overview } = useReport();
  const [metricName, setMetricName] = useRemembered("questions metric", overview.metrics[0]?.name ?? "");
  const texts = useParts<Questions>(["questions"]);
  const scores = useParts<Scores>(overview.runs.map((_, run) => `scores-${run}`));
  const questions = texts.value?.[0]?.texts;
  const metric = overview.metrics.find(({ name }) => name === metricName) ?? overview.metrics[0];
  return (
    <>
      <h1>Questions</h1>
      {questions === undefined || scores.value === undefined ? (
        <Loading problem={texts.problem ?? scores.problem} />
      ) : (
        <QuestionTable texts={questions} runs={scores.value} metric={metric}>
          {metric !== undefined && (
            <Choice
              label="Scores by"
              names={overview.metrics.map(({ name }) => name)}
              chosen={metric.name}
              onChoose={setMetricName}
            />
          )}
        </QuestionTable>
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

function QuestionTable({ texts, runs, metric, children }: Props) {
  const { overview } = useReport();
  const [words, setWords] = useRemembered("questions words", "");
  const [chosen, setChosen] = useRemembered<string[]>("questions statuses", []);
  const hasWords = useWords(texts, words);
  const all = useMemo(() => texts.map((_, question) => question), [texts]);
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
  // A question may be of several kinds: errored in one run, not measured in another.
  const kinds = useMemo(
    () =>
      all.map((question) => {
        const found = new Set<string>();
        for (const { status, means } of results) {
          const letter = status[question] ?? "";
          if (letter === "e" || letter === "i") found.add(letter);
          if (letter !== "" && letter !== "e" && Number.isNaN(means[question])) found.add("n");
        }
        return found.size === 0 ? "s" : [...found].join("");
      }),
    [all, results],
  );
  const counted = useMemo(
    () =>
      KINDS.map((kind) => ({
        ...kind,
        count: kinds.reduce((sum, found) => sum + Number(found.includes(kind.key)), 0),
      })).filter(({ count }) => count > 0),
    [kinds],
  );
  const rows = useMemo(() => {
    const wanted = chosen.filter((key) => counted.some((kind) => kind.key === key));
    return all.filter(
      (question) => (wanted.length === 0 || wanted.some((key) => kinds[question]?.includes(key))) && hasWords(question),
    );
  }, [all, chosen, counted, kinds, hasWords]);
  const columns = useMemo(
    (): Column[] => [
      placeColumn,
      ...results.map((result, run) => ({
        ...runColumn(result, run, overview.runs[run]?.label ?? "", metric),
        width: results.length <= 3 ? 11 : results.length <= 6 ? 8 : 7,
      })),
    ],
    [results, metric, overview.runs],
  );
  const head = useMemo(
    (): Column => ({
      key: "text",
      title: "Question",
      width: 20,
      cell: (question) => <Name text={texts[question] ?? ""} />,
      order: (question) => texts[question] ?? "",
    }),
    [texts],
  );
  const href = (question: number) => {
    const run = results.findIndex(({ first }) => (first[question] ?? -1) >= 0);
    const number = 1 + (results[run]?.first[question] ?? 0);
    return linkTo({ page: "question", run: overview.runs[run]?.label ?? "", number });
  };
  return (
    <>
      <div class="filters choices">
        {children}
        <Search label="Search the questions" value={words} onChange={setWords} />
        <ShowOnly legend="Show only, in any run" kinds={counted} chosen={chosen} onChange={setChosen} />
      </div>
      <Shown rows={rows.length} all={all.length} what="questions" />
      <VirtualTable
        name="questions"
        label={`Questions with the score that each run has by ${plain(metric?.name ?? "no metric")}`}
        rows={rows}
        choice={JSON.stringify([words, chosen])}
        head={head}
        columns={columns}
        href={href}
      />
      {counted.some(({ key }) => key === "i") && (
        <p class="muted">
          <span class="doubt">◐</span> incomplete: answered, but some other metric was not measured.
        </p>
      )}
    </>
  );
}

const placeColumn: Column = {
  key: "place",
  title: "No.",
  width: 4,
  numeric: true,
  cell: (question) => question + 1,
  order: (question) => question,
};

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
