/** Two runs, question by question. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Loading, NotFound, useParts, useReport } from "../app";
import { count, number, percentage, plain, plural, pValue, span } from "../format";
import type { Comparison, Metric, MetricComparison, Overview, Questions, Scores, Verdict } from "../model";
import {
  CHANGES,
  changeOf,
  firstPositions,
  known,
  pairedDifferences,
  type QuestionScores,
  scoresByQuestion,
} from "../parts/by-question";
import { Choice } from "../parts/choice";
import { DifferenceChart } from "../parts/difference-chart";
import { Search, Shown, ShowOnly, useWords } from "../parts/filters";
import { useRemembered } from "../parts/remembered";
import { RunName } from "../parts/runs";
import { Scroll } from "../parts/scroll";
import { Name } from "../parts/text";
import { type Column, VirtualTable } from "../parts/virtual-table";
import { linkTo } from "../route";
import "../styles/compare.css";
import "../styles/figures.css";

export function ComparePage(props: { baseline: string; candidate: string; metric: string }) {
  const { overview } = useReport();
  const named = (label: string) => overview.runs.findIndex((run) => run.label === label);
  const asked = [named(props.baseline), named(props.candidate)];
  if (overview.runs.length < 2)
    return <NotFound>This report is of one run: there is nothing to compare it with.</NotFound>;
  const missing = asked[0] === -1 ? props.baseline : asked[1] === -1 ? props.candidate : null;
  if (missing !== null)
    return (
      <NotFound>
        There is no run <Name text={missing} /> to compare.
      </NotFound>
    );
  // However the address has them: the earlier is the baseline.
  const [baseline = 0, candidate = 0] = asked.sort((a, b) => a - b);
  if (baseline === candidate) return <NotFound>A run is not compared with itself.</NotFound>;
  const { both, onlyBaseline, onlyCandidate } = sharedMetrics(overview, baseline, candidate);
  const metric = props.metric === "" ? (both[0]?.name ?? "") : props.metric;
  return (
    <>
      <h1>
        <RunName run={candidate} /> compared with <RunName run={baseline} />
      </h1>
      <Choices baseline={baseline} candidate={candidate} metric={metric} metrics={both} />
      {overview.pairs.some(([b, c]) => b === baseline && c === candidate) ? (
        <Pair
          key={`${baseline} ${candidate}`}
          baseline={baseline}
          candidate={candidate}
          metric={metric}
          onlyBaseline={onlyBaseline}
          onlyCandidate={onlyCandidate}
        />
      ) : (
        <p>These two are not compared in this report.</p>
      )}
    </>
  );
}

/** The metrics of both runs, of the first only, of the second only. */
function sharedMetrics(overview: Overview, baseline: number, candidate: number) {
  const has = (run: number, { name }: Metric) => overview.runs[run]?.metrics[name] !== undefined;
  const of = (test: (metric: Metric) => boolean) => overview.metrics.filter(test);
  return {
    both: of((metric) => has(baseline, metric) && has(candidate, metric)),
    onlyBaseline: of((metric) => has(baseline, metric) && !has(candidate, metric)),
    onlyCandidate: of((metric) => !has(baseline, metric) && has(candidate, metric)),
  };
}

interface Chosen {
  baseline: number;
  candidate: number;
  metric: string;
}

function addressOf(overview: Overview, { baseline, candidate, metric }: Chosen): string {
  const label = (run: number) => overview.runs[run]?.label ?? "";
  const [first, second] = [Math.min(baseline, candidate), Math.max(baseline, candidate)];
  return linkTo({ page: "compare", baseline: label(first), candidate: label(second), metric });
}

function Choices({ metrics, ...chosen }: Chosen & { metrics: Metric[] }) {
  const { overview } = useReport();
  const labels = overview.runs.map(({ label }) => label);
  const choose = (change: Partial<Chosen>) => {
    window.location.hash = addressOf(overview, { ...chosen, ...change });
  };
  // A run is not compared with itself.
  const without = (run: number) => labels.filter((_, index) => index !== run);
  return (
    <>
      <div class="choices">
        <Choice
          label="Baseline"
          names={without(chosen.candidate)}
          chosen={labels[chosen.baseline] ?? ""}
          onChoose={(label) => choose({ baseline: labels.indexOf(label) })}
        />
        <Choice
          label="Candidate"
          names={without(chosen.baseline)}
          chosen={labels[chosen.candidate] ?? ""}
          onChoose={(label) => choose({ candidate: labels.indexOf(label) })}
        />
        {metrics.length > 0 && (
          <Choice
            label="Metric"
            names={metrics.map(({ name }) => name)}
            chosen={chosen.metric}
            onChoose={(metric) => choose({ metric })}
          />
        )}
      </div>
      {labels.length > 2 && (
        <p class="muted no-print">Of two runs, the one that stands first in the report is the baseline.</p>
      )}
    </>
  );
}

function Pair(props: Chosen & { onlyBaseline: Metric[]; onlyCandidate: Metric[] }) {
  const { baseline, candidate, metric, onlyBaseline, onlyCandidate } = props;
  const { overview } = useReport();
  const { value, problem } = useParts<Comparison>([`comparison-${baseline}-${candidate}`]);
  const comparison = value?.[0];
  if (comparison === undefined) return <Loading problem={problem} />;
  const details = comparison.comparisons.find((one) => one.metric === metric);
  const described = overview.metrics.find(({ name }) => name === metric);
  return (
    <>
      <MetricsTable comparison={comparison} chosen={metric} />
      <Pairing comparison={comparison} onlyBaseline={onlyBaseline} onlyCandidate={onlyCandidate} />
      {details !== undefined && described !== undefined && (
        <MetricDetails comparison={comparison} details={details} metric={described} />
      )}
      {details === undefined && metric !== "" && (
        <p class="doubt">
          <Name text={metric} />{" "}
          {described === undefined ? "is no metric of this report." : "is not a metric of both runs."}
        </p>
      )}
    </>
  );
}

const VERDICTS: Record<Verdict, { sign: string; tone: string }> = {
  better: { sign: "▲", tone: "good" },
  worse: { sign: "▼", tone: "bad" },
  equivalent: { sign: "=", tone: "" },
  "no difference shown": { sign: "○", tone: "muted" },
  "cannot say": { sign: "?", tone: "doubt" },
};

function VerdictWords({ verdict }: { verdict: Verdict }) {
  const { sign, tone } = VERDICTS[verdict];
  return (
    <span class={`verdict ${tone}`}>
      <span aria-hidden="true">{sign}</span> {verdict}
    </span>
  );
}

function MetricsTable({ comparison, chosen }: { comparison: Comparison; chosen: string }) {
  const { overview } = useReport();
  const { baseline, candidate } = comparison;
  const formats = new Map(overview.metrics.map(({ name, format }) => [name, format]));
  return (
    <section aria-labelledby="verdicts">
      <h2 id="verdicts">All metrics</h2>
      <Scroll label="Verdicts by metric">
        <table class="comparison">
          <caption class="visually-hidden">Every metric of both runs: means, difference and verdict</caption>
          <thead>
            <tr>
              <th scope="col">Metric</th>
              <th scope="col">Verdict</th>
              <th scope="col" class="number">
                Baseline
              </th>
              <th scope="col" class="number">
                Candidate
              </th>
              <th scope="col" class="number">
                Difference
              </th>
              <th scope="col" class="number">
                Interval
              </th>
              <th scope="col" class="number">
                p
              </th>
              <th scope="col" class="number">
                n
              </th>
              <th scope="col" class="number" title="Questions on which the candidate is better, as good, worse">
                Wins / ties / losses
              </th>
              <th scope="col" class="number" title="Measured of measurable: baseline, candidate">
                Coverage
              </th>
            </tr>
          </thead>
          <tbody>
            {comparison.comparisons.map((one) => {
              const format = formats.get(one.metric) ?? ".3f";
              return (
                <tr key={one.metric} class={one.metric === chosen ? "chosen" : undefined}>
                  <th scope="row">
                    <a
                      href={addressOf(overview, { baseline, candidate, metric: one.metric })}
                      aria-current={one.metric === chosen ? "true" : undefined}
                    >
                      <Name text={one.metric} />
                    </a>
                    <div class="muted small">{one.higher_is_better ? "higher" : "lower"} is better</div>
                  </th>
                  <td class="why">
                    <VerdictWords verdict={one.verdict} />
                    <div class="muted small">
                      <Name text={one.reason} />
                      {one.verdict === "no difference shown" && one.smallest_detectable !== null && (
                        <> Smallest difference it could detect: {number(one.smallest_detectable, format)}.</>
                      )}
                    </div>
                  </td>
                  <td class="number">{number(one.baseline_mean, format)}</td>
                  <td class="number">{number(one.candidate_mean, format)}</td>
                  <td class="number strong">{number(one.mean_difference, format, true)}</td>
                  <td class="number">{span(one.interval, format, true)}</td>
                  <td class="number">{pValue(one.p_holm)}</td>
                  <td class="number">{count(one.n)}</td>
                  <td class="number">
                    {count(one.wins)} / {count(one.ties)} / {count(one.losses)}
                  </td>
                  <td class="number">
                    {percentage(one.baseline_coverage)}, {percentage(one.candidate_coverage)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** Which questions pair, and what the numbers above are adjusted for. */
function Pairing(props: { comparison: Comparison; onlyBaseline: Metric[]; onlyCandidate: Metric[] }) {
  const { comparison, onlyBaseline, onlyCandidate } = props;
  const { baseline, candidate, only_in_baseline, only_in_candidate } = comparison;
  const only = (run: number, metrics: Metric[]) =>
    metrics.length > 0 && (
      <li>
        Only <RunName run={run} /> has{" "}
        {metrics.map(({ name }, place) => (
          <span key={name}>
            {place > 0 && ", "}
            <Name text={name} />
          </span>
        ))}
        : not compared.
      </li>
    );
  const left = (run: number, samples: number) =>
    samples > 0 && (
      <li class="doubt">
        {plural(samples, "sample")} that only <RunName run={run} /> asked {samples === 1 ? "has" : "have"} no partner.
      </li>
    );
  return (
    <ul class="notes">
      <li>
        {plural(comparison.pairs, "pair")} of samples. Differences are candidate minus baseline, with{" "}
        {Math.round(100 * comparison.level)} % intervals; p is adjusted (Holm) for all{" "}
        {plural(comparison.family_size, "test")} of this report, and counts below {comparison.alpha}.
      </li>
      {left(baseline, only_in_baseline)}
      {left(candidate, only_in_candidate)}
      {only(baseline, onlyBaseline)}
      {only(candidate, onlyCandidate)}
      {comparison.notes.map((note) => (
        <li key={note}>
          <Name text={note} />
        </li>
      ))}
    </ul>
  );
}

interface DetailsProps {
  comparison: Comparison;
  details: MetricComparison;
  metric: Metric;
}

function MetricDetails({ comparison, details, metric }: DetailsProps) {
  const { overview } = useReport();
  const { baseline, candidate } = comparison;
  const scores = useParts<Scores>([`scores-${baseline}`, `scores-${candidate}`]);
  const texts = useParts<Questions>(["questions"]);
  const [before, after] = scores.value ?? [];
  const sides = useMemo(
    () =>
      before &&
      after && {
        before: scoresByQuestion(before, metric.name, overview.questions),
        after: scoresByQuestion(after, metric.name, overview.questions),
      },
    [before, after, metric.name, overview.questions],
  );
  const places = useMemo(
    () =>
      before &&
      after && {
        before: firstPositions(before, overview.questions),
        after: firstPositions(after, overview.questions),
      },
    [before, after, overview.questions],
  );
  const differences = useMemo(() => sides && pairedDifferences(sides.before, sides.after), [sides]);
  const questions = texts.value?.[0]?.texts;
  return (
    <section aria-labelledby="differences">
      <h2 id="differences">
        Differences of <Name text={metric.name} />
      </h2>
      <Figures details={details} format={metric.format} />
      {differences === undefined ? (
        <Loading problem={scores.problem} />
      ) : (
        <DifferenceChart differences={differences} comparison={details} format={metric.format} />
      )}
      <h2 id="questions">Questions</h2>
      {sides === undefined || places === undefined || questions === undefined ? (
        <Loading problem={scores.problem ?? texts.problem} />
      ) : (
        <QuestionTable
          key={metric.name}
          comparison={comparison}
          details={details}
          metric={metric}
          texts={questions}
          sides={sides}
          places={places}
        />
      )}
    </section>
  );
}

function Figures({ details, format }: { details: MetricComparison; format: string }) {
  const bounds = details.difference_bounds;
  const figures: [string, ComponentChildren][] = [
    ["Verdict", <VerdictWords key="verdict" verdict={details.verdict} />],
    ["Mean difference", number(details.mean_difference, format, true)],
    ["Interval", span(details.interval, format, true)],
    ["p, adjusted", pValue(details.p_holm)],
    ["Wins / ties / losses", `${count(details.wins)} / ${count(details.ties)} / ${count(details.losses)}`],
    ["p, t-test", pValue(details.p_t)],
    ["p, sign flips", pValue(details.p_permutation)],
    ["Effect (d_z)", number(details.d_z, ".2f", true)],
    ["Standard deviation", number(details.sd_difference, format)],
    ["Smallest detectable", number(details.smallest_detectable, format)],
  ];
  if (details.lost > 0 || details.gained > 0)
    figures.push(["Failed only in candidate / baseline", `${count(details.lost)} / ${count(details.gained)}`]);
  if (bounds !== null)
    figures.push([
      "With all missing at worst / best",
      `${number(bounds.worst, format, true)} / ${number(bounds.best, format, true)}`,
    ]);
  return (
    <dl class="figures">
      {figures.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface QuestionTableProps extends DetailsProps {
  texts: string[];
  sides: { before: QuestionScores; after: QuestionScores };
  places: { before: Int32Array; after: Int32Array };
}

function QuestionTable({ comparison, details, metric, texts, sides, places }: QuestionTableProps) {
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
  { before, after }: QuestionTableProps["sides"],
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
