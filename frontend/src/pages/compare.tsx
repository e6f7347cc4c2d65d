/** Two runs, question by question. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { count, number, pValue, span } from "../format";
import type { Comparison, Metric, MetricComparison, Overview, Questions, Scores } from "../model";
import { firstPositions, pairedDifferences, scoresByQuestion } from "../parts/by-question";
import { Choice } from "../parts/choice";
import { ComparedQuestions } from "../parts/compared-questions";
import { DifferenceChart } from "../parts/difference-chart";
import { RunName } from "../parts/runs";
import { Name } from "../parts/text";
import { Pairing, VerdictTable, VerdictWords } from "../parts/verdict-table";
import { Loading, NotFound, useParts, useReport } from "../report";
import { linkTo } from "../route";
import "../styles/compare.css";
import "../styles/figures.css";

export function ComparePage(props: { baseline: string; candidate: string; metric: string }) {
  const { overview } = useReport();
  const named = (label: string) => overview.runs.findIndex((run) => run.label === label);
  // Without any names: the first two.
  const asked =
    props.baseline === "" ? [...(overview.pairs[0] ?? [0, 1])] : [named(props.baseline), named(props.candidate)];
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
  const { value, problem } = useParts<[Comparison]>([`comparison-${baseline}-${candidate}`]);
  const comparison = value?.[0];
  if (comparison === undefined) return <Loading problem={problem} />;
  const details = comparison.comparisons.find((one) => one.metric === metric);
  const described = overview.metrics.find(({ name }) => name === metric);
  return (
    <>
      <VerdictTable comparison={comparison} chosen={metric} />
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

interface DetailsProps {
  comparison: Comparison;
  details: MetricComparison;
  metric: Metric;
}

function MetricDetails({ comparison, details, metric }: DetailsProps) {
  const { overview } = useReport();
  const { baseline, candidate } = comparison;
  const names = ["questions", `scores-${baseline}`, `scores-${candidate}`];
  const { value, problem } = useParts<[Questions, Scores, Scores]>(names);
  const [questions, before, after] = value ?? [];
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
  return (
    <section aria-labelledby="differences">
      <h2 id="differences">
        Differences of <Name text={metric.name} />
      </h2>
      <Figures details={details} format={metric.format} />
      {differences === undefined ? (
        <Loading problem={problem} />
      ) : (
        <DifferenceChart differences={differences} comparison={details} format={metric.format} />
      )}
      <h2 id="questions">Questions</h2>
      {sides === undefined || places === undefined || questions === undefined ? (
        <Loading problem={problem} />
      ) : (
        <ComparedQuestions
          key={metric.name}
          comparison={comparison}
          details={details}
          metric={metric}
          texts={questions.texts}
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
