/** The questions of two runs, with what became of each. */
import { useCallback, useMemo } from "preact/hooks";
import { number, plain } from "../format";
import type { Comparison, Metric, MetricComparison } from "../model";
import { useReport } from "../report";
import { linkTo } from "../route";
import { CHANGES, changeOf, known, type QuestionScores } from "./by-question";
import { QuestionTable } from "./question-table";
import type { Column } from "./virtual-table";

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
  const kinds = useMemo(() => {
    const counts = new Map<string, number>();
    for (const letter of details.changes) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    return CHANGES.map(({ letter, word }) => ({ key: letter, word, count: counts.get(letter) ?? 0 }));
  }, [details]);
  const isOf = useCallback(
    (question: number, letter: string) => changeOf(details, question).letter === letter,
    [details],
  );
  const columns = useMemo(() => columnsOf(details, metric, sides), [details, metric, sides]);
  const href = (question: number) => {
    const [run, place] = [
      [comparison.candidate, places.after[question] ?? -1] as const,
      [comparison.baseline, places.before[question] ?? -1] as const,
    ].find(([, position]) => position >= 0) ?? [comparison.candidate, 0];
    return linkTo({ page: "question", run: overview.runs[run]?.label ?? "", number: place + 1 });
  };
  return (
    <>
      <p class="muted">
        Fixed and broken are better and worse than the baseline by any amount: sort by difference to see how much.
      </p>
      <QuestionTable
        name="compare"
        label={`Questions with their scores by ${plain(metric.name)} in both runs`}
        texts={texts}
        legend="Show only"
        kinds={kinds}
        isOf={isOf}
        textWidth={18}
        columns={columns}
        href={href}
      />
    </>
  );
}

function columnsOf(details: MetricComparison, metric: Metric, { before, after }: Props["sides"]): Column[] {
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
  return [
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
  ];
}
