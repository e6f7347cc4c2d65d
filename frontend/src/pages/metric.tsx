/** One metric: how each run's scores spread, what is missing and why, and where runs are better or worse. */
import { useMemo } from "preact/hooks";
import { plain } from "../format";
import type { Metric } from "../model";
import { Choice } from "../parts/choice";
import { CountTable } from "../parts/count-table";
import { EcdfChart } from "../parts/ecdf-chart";
import { HistogramChart, scoresIn } from "../parts/histogram-chart";
import { IntervalChart } from "../parts/interval-chart";
import { Listed } from "../parts/listed";
import { type Measured, measuredBy } from "../parts/measured";
import { reasonMeaning, reasonName, sortedKinds } from "../parts/missing";
import { PercentileTable, SummaryTable } from "../parts/score-tables";
import { SliceSection } from "../parts/slice-section";
import { Name } from "../parts/text";
import { NotFound, useReport } from "../report";
import { linkTo } from "../route";
import "../styles/metric.css";

export function MetricPage({ name }: { name: string }) {
  const { overview } = useReport();
  const metric = overview.metrics.find((one) => one.name === name);
  const measured = useMemo(() => measuredBy(overview.runs, name), [overview, name]);
  const runs = useMemo(() => measured.map(({ run }) => run), [measured]);
  if (metric === undefined)
    return (
      <NotFound>
        No run has a metric <Name text={name} />.
      </NotFound>
    );
  const without = overview.runs.filter((run) => run.metrics[name] === undefined);
  const isMeasured = measured.some(({ evidence }) => evidence.summary.count > 0);
  return (
    <>
      <h1>
        <Name text={name} />
      </h1>
      {overview.metrics.length > 1 && (
        <Choice
          label="Metric"
          names={overview.metrics.map((one) => one.name)}
          chosen={name}
          onChoose={(chosen) => {
            window.location.hash = linkTo({ page: "metric", metric: chosen });
          }}
        />
      )}
      <p>
        {metric.higher_is_better ? "Higher is better." : <strong>Lower is better.</strong>}{" "}
        {without.length > 0 && (
          <>
            Without this metric:{" "}
            <Listed>
              {without.map(({ label }) => (
                <Name key={label} text={label} />
              ))}
            </Listed>
            .
          </>
        )}
      </p>
      <section aria-labelledby="means">
        <h2 id="means">Means</h2>
        {isMeasured && <Means metric={metric} measured={measured} />}
        <SummaryTable metric={metric} measured={measured} />
      </section>
      {isMeasured && (
        <>
          <section aria-labelledby="distribution">
            <h2 id="distribution">Distribution</h2>
            <Distributions metric={metric} measured={measured} />
          </section>
          <section aria-labelledby="percentiles">
            <h2 id="percentiles">Percentiles</h2>
            <PercentileTable metric={metric} measured={measured} />
          </section>
        </>
      )}
      <section aria-labelledby="missing">
        <h2 id="missing">Missing scores</h2>
        <Missing measured={measured} />
      </section>
      <Verdicts metric={metric} runs={runs} />
      {isMeasured && overview.slices.length > 0 && (
        <section aria-labelledby="slices">
          <h2 id="slices">Slices</h2>
          {overview.slices.map((slices) => (
            <SliceSection key={slices.key} slices={slices} metric={metric} runs={runs} />
          ))}
        </section>
      )}
    </>
  );
}

function Means({ metric, measured }: { metric: Metric; measured: Measured[] }) {
  const rows = useMemo(
    () => measured.map(({ run, evidence }) => ({ run, group: "", mean: evidence.mean, interval: evidence.interval })),
    [measured],
  );
  return (
    <div class="means-chart">
      <IntervalChart
        metric={metric}
        rows={rows}
        label={`Means of ${plain(metric.name)} with their intervals, a row a run. The numbers are in the table.`}
      />
    </div>
  );
}

function Distributions({ metric, measured }: { metric: Metric; measured: Measured[] }) {
  const [low, high] = [metric.bins[0], metric.bins.at(-1)];
  const kept = useMemo(() => measured.filter(({ evidence }) => scoresIn(evidence) > 0), [measured]);
  if (kept.length === 0) return <p>Of these runs only the summary is known, not the scores.</p>;
  return (
    <div class="side-by-side distributions">
      {low !== undefined && high !== undefined && low < high && (
        <figure>
          <figcaption>Shares of scores; the line is the mean, the band its interval</figcaption>
          <HistogramChart metric={metric} measured={kept} />
        </figure>
      )}
      <figure>
        <figcaption>Share of scores that are at most so much</figcaption>
        <EcdfChart metric={metric} measured={kept} />
      </figure>
    </div>
  );
}

function Missing({ measured }: { measured: Measured[] }) {
  const kinds = sortedKinds(measured.flatMap(({ evidence }) => Object.keys(evidence.coverage.reasons)));
  if (kinds.length === 0) return <p>Nothing is missing: every question has its score.</p>;
  return (
    <>
      <CountTable
        label="Missing scores by reason"
        columns={kinds.map((kind) => ({ key: kind, heading: <Name text={reasonName(kind)} /> }))}
        rows={measured.map(({ run, evidence }) => ({ run, counts: evidence.coverage.reasons }))}
      />
      <dl class="meanings">
        {kinds.map((kind) => (
          <div key={kind}>
            <dt>
              <Name text={reasonName(kind)} />:
            </dt>{" "}
            <dd>{reasonMeaning(kind)}</dd>
          </div>
        ))}
      </dl>
      <p>
        <a href={linkTo({ page: "errors" })}>What failed, with the messages</a>
      </p>
    </>
  );
}

/** How often judges said what. */
function Verdicts({ metric, runs }: { metric: Metric; runs: number[] }) {
  const { overview } = useReport();
  const judged = runs.filter((run) => overview.runs[run]?.verdicts[metric.name] !== undefined);
  const verdictsOf = (run: number) => overview.runs[run]?.verdicts[metric.name] ?? {};
  const words = [...new Set(judged.flatMap((run) => Object.keys(verdictsOf(run))))];
  if (words.length === 0) return null;
  return (
    <section aria-labelledby="verdicts">
      <h2 id="verdicts">Verdicts of judges</h2>
      <CountTable
        label="How often judges gave which verdict"
        columns={words.map((word) => ({ key: word, heading: <Name text={word.replaceAll("_", " ")} /> }))}
        rows={judged.map((run) => ({ run, counts: verdictsOf(run) }))}
        withShares
      />
    </section>
  );
}
