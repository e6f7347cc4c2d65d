/** The questions of two runs, with what became of each. */
import { useMemo } from "preact/hooks";
import { number, plain } from "../format";
import type { Comparison, Metric, MetricComparison } from "../model";
import { useReport } from "../report";
import { linkTo } from "../route";
import { CHANGES, changeOf, known, type QuestionScores } from "./by-question";
import { Search, Shown, ShowOnly, useWords } from "./filters";
import { useRemembered } from "./remembered";
import { Name } from "./text";
import { type Column, VirtualTable } from "./virtual-table";

interface Props {
  comparison: Comparison;
  details: MetricComparison;
  metric: Metric;
  texts: string[];
  sides: { before: QuestionScores; after: QuestionScores };
  places: { before: Int32Array; after: Int32Array };
}

export function ComparedQuestions({ comparison, details, metric, texts, sides, places }: Props) {
  const { overview } = useReport();
  const [words, setWords] = useRemembered("compare words", "");
  const [chosen, setChosen] = useRemembered<string[]>("compare changes", []);
  const hasWords = useWords(texts, words);
  const all = useMemo(() => texts.map((_, question) => question), [texts]);
  const kinds = useMemo(() => {
    const counts = new Map<string, number>();
    for (const letter of details.changes) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    return CHANGES.map(({ letter, word }) => ({ key: letter, word, count: counts.get(letter) ?? 0 })).filter(
      (kind) => kind.count > 0,
    );
  }, [details]);
  const rows = useMemo(() => {
    // What this metric has nothing of narrows nothing.
    const wanted = chosen.filter((letter) => kinds.some(({ key }) => key === letter));
    return all.filter(
      (question) => (wanted.length === 0 || wanted.includes(details.changes[question] ?? ".")) && hasWords(question),
    );
  }, [all, kinds, chosen, details, hasWords]);

  const { head, columns } = useMemo(() => columnsOf(details, metric, texts, sides), [details, metric, texts, sides]);
  const href = (question: number) => {
    const [run, place] = [
      [comparison.candidate, places.after[question] ?? -1] as const,
      [comparison.baseline, places.before[question] ?? -1] as const,
    ].find(([, position]) => position >= 0) ?? [comparison.candidate, 0];
    return linkTo({ page: "question", run: overview.runs[run]?.label ?? "", number: place + 1 });
  };
  return (
    <>
      <div class="filters">
        <Search label="Search the questions" value={words} onChange={setWords} />
        <ShowOnly legend="Show only" kinds={kinds} chosen={chosen} onChange={setChosen} />
      </div>
      <Shown rows={rows.length} all={all.length} what="questions" />
      <VirtualTable
        name="compare"
        label={`Questions with their scores by ${plain(metric.name)} in both runs`}
        rows={rows}
        choice={JSON.stringify([words, chosen])}
        head={head}
        columns={columns}
        href={href}
      />
    </>
  );
}

function columnsOf(
  details: MetricComparison,
  metric: Metric,
  texts: string[],
  { before, after }: Props["sides"],
): { head: Column; columns: Column[] } {
  const difference = (question: number) =>
    known((after.means[question] ?? Number.NaN) - (before.means[question] ?? Number.NaN));
  const { format } = metric;
  const scores = (key: string, title: string, of: (question: number) => number | null, sign: boolean): Column => ({
    key,
    title,
    width: 7,
    numeric: true,
    cell: (question) => number(of(question), format, sign),
    order: of,
  });
  return {
    head: {
      key: "text",
      title: "Question",
      width: 18,
      cell: (question) => <Name text={texts[question] ?? ""} />,
      order: (question) => texts[question] ?? "",
    },
    columns: [
      {
        key: "place",
        title: "No.",
        width: 4,
        numeric: true,
        cell: (question) => question + 1,
        order: (question) => question,
      },
      scores("before", "Baseline", (question) => known(before.means[question]), false),
      { ...scores("after", "Candidate", (question) => known(after.means[question]), false), width: 7.5 },
      { ...scores("difference", "Difference", difference, true), width: 7.5 },
      {
        key: "change",
        title: "Change",
        width: 10,
        cell: (question) => {
          const { sign, word, tone } = changeOf(details, question);
          return (
            <span class={tone}>
              <span aria-hidden="true">{sign}</span> {word}
            </span>
          );
        },
        order: (question) => CHANGES.indexOf(changeOf(details, question)),
      },
    ],
  };
}
