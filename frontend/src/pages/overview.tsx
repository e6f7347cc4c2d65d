/** What there is: the runs, every run's numbers, who is best, and at what price. */

import { count, plural } from "../format";
import type { ErrorGroup, Metric, Slices } from "../model";
import { MetricTable } from "../parts/metric-table";
import { NOT_APPLICABLE } from "../parts/missing";
import { RankingSection } from "../parts/ranking-section";
import { RunFacts } from "../parts/run-facts";
import { Name } from "../parts/text";
import { TradeOffSection } from "../parts/trade-off-section";
import { useReport } from "../report";
import { linkTo } from "../route";
import "../styles/overview.css";

export function OverviewPage() {
  const { overview } = useReport();
  const { runs, metrics } = overview;
  return (
    <>
      <h1>
        {plural(runs.length, "run")} on {plural(overview.questions, "question")}
      </h1>
      <RunFacts runs={runs} />
      <ErrorLine errors={overview.errors} />
      {metrics.length > 0 && (
        <section aria-labelledby="metrics">
          <h2 id="metrics">Metrics</h2>
          <MetricTable metrics={metrics} runs={runs} />
        </section>
      )}
      {runs.length > 1 && <RankingSection />}
      {runs.length > 1 && <TradeOffSection />}
      {overview.slices.length > 0 && <SlicesSection slices={overview.slices} metrics={metrics} />}
    </>
  );
}

function ErrorLine({ errors }: { errors: ErrorGroup[] }) {
  const failures = errors.filter(({ kind }) => kind !== NOT_APPLICABLE);
  const times = failures.flatMap(({ counts }) => counts).reduce((sum, more) => sum + more, 0);
  const link = linkTo({ page: "errors" });
  return (
    <p>
      {failures.length === 0 ? (
        "Nothing failed."
      ) : (
        <a href={link}>
          {plural(times, "failure")} in {plural(failures.length, "group")}
        </a>
      )}
      {failures.length < errors.length && (
        <>
          {failures.length > 0 && "."} Some samples lack what metrics need:{" "}
          <a href={link}>what could not be measured</a>
        </>
      )}
    </p>
  );
}

function SlicesSection({ slices, metrics }: { slices: Slices[]; metrics: Metric[] }) {
  return (
    <section aria-labelledby="slices">
      <h2 id="slices">Slices</h2>
      <dl class="slices">
        {slices.map(({ key, groups }) => (
          <div key={key}>
            <dt>
              By <Name text={key} />
            </dt>
            <dd>
              <ul class="inline">
                {groups.map((group) => (
                  <li key={group.name}>
                    <Name text={group.name} /> <span class="muted">({count(group.questions)})</span>
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        ))}
        <div>
          <dt>Means of each</dt>
          <dd>
            <ul class="inline">
              {metrics.map(({ name }) => (
                <li key={name}>
                  <a href={linkTo({ page: "metric", metric: name })}>
                    <Name text={name} />
                  </a>
                </li>
              ))}
            </ul>
          </dd>
        </div>
      </dl>
    </section>
  );
}
