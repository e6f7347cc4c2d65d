/** Who is best by a metric, and how sure that is. */
import { useState } from "preact/hooks";
import { ABSENT, bounds, count, number, plural, span } from "../format";
import type { Metric, Ranking } from "../model";
import { useReport } from "../report";
import { linkTo } from "../route";
import { Choice } from "./choice";
import { Listed } from "./listed";
import { CoverageShare, lacks } from "./missing";
import { NamedRun, RunName } from "./runs";
import { Scroll } from "./scroll";
import { numbers, TableHead, words } from "./table-head";
import { LongText, Name } from "./text";

type Entry = Ranking["entries"][number];

export function RankingSection() {
  const { rankings, metrics } = useReport().overview;
  const [chosen, setChosen] = useState(rankings[0]?.metric ?? "");
  const ranking = rankings.find(({ metric }) => metric === chosen) ?? rankings[0];
  const metric = metrics.find(({ name }) => name === ranking?.metric);
  if (ranking === undefined || metric === undefined) return null;
  return (
    <section aria-labelledby="ranking">
      <h2 id="ranking">Ranking</h2>
      <Choice label="By" names={rankings.map((one) => one.metric)} chosen={ranking.metric} onChoose={setChosen} />
      <div aria-live="polite">
        {ranking.problem === null ? (
          <Winner ranking={ranking} />
        ) : (
          <>
            <p>
              There is no ranking by <Name text={ranking.metric} />:
            </p>
            <LongText text={ranking.problem} />
          </>
        )}
      </div>
      {ranking.problem === null && <RankingTable ranking={ranking} metric={metric} />}
    </section>
  );
}

/** Who is best, who is tied with it, and whom it is better than. */
function Winner({ ranking }: { ranking: Ranking }) {
  const { runs } = useReport().overview;
  const [winner, ...others] = ranking.entries.filter(({ rank }) => rank !== null);
  if (winner === undefined) return <p>No run qualifies for a rank.</p>;
  const name = runs[winner.run]?.label ?? "";
  const tied = others.filter(({ rank }) => rank === winner.rank);
  const beaten = others.filter((entry) => entry.beaten_by.includes(name));
  const open = others.filter((entry) => !tied.includes(entry) && !beaten.includes(entry));
  const tie = ranking.questions === null ? "there being no samples to compare" : "for no difference is shown";
  return (
    <ul class="winner">
      <li>
        {tied.length > 0 ? "Tied for first" : "Best"} by <Name text={ranking.metric} />
        {tied.length > 0 && `, ${tie}`}:{" "}
        <strong>
          <Runs entries={[winner, ...tied]} />
        </strong>
        {others.length === 0 && "; no other run qualifies"}
      </li>
      {beaten.length > 0 && (
        <li>
          <RunName run={winner.run} /> is shown to be better than: <Runs entries={beaten} />
        </li>
      )}
      {open.length > 0 && (
        <li>
          <RunName run={winner.run} /> is not shown to be better than: <Runs entries={open} />
        </li>
      )}
    </ul>
  );
}

function Runs({ entries }: { entries: Entry[] }) {
  return (
    <Listed>
      {entries.map(({ run }) => (
        <RunName key={run} run={run} />
      ))}
    </Listed>
  );
}

function RankingTable({ ranking, metric }: { ranking: Ranking; metric: Metric }) {
  const { entries } = ranking;
  const { format } = metric;
  const withBounds = entries.some(({ coverage }) => lacks(coverage));
  const withBeaten = entries.some((entry) => entry.beaten_by.length > 0);
  const withReasons = entries.some((entry) => entry.reason !== null);
  const withRemarks = withBeaten || withReasons;
  return (
    <>
      <Scroll label="Runs in rank order">
        <table class="by-run">
          <caption class="visually-hidden">Runs in rank order</caption>
          <TableHead
            columns={[
              ...numbers("Rank"),
              words("Run"),
              ...numbers("Mean", "95 % interval", "Coverage", ...(withBounds ? ["Worst..best"] : [])),
              ...(withRemarks ? [words(withBeaten ? "Beaten by" : "Why no rank")] : []),
            ]}
          />
          <tbody>
            {entries.map((entry) => (
              <tr key={entry.run}>
                <td class="number">{place(entry, entries)}</td>
                <th scope="row">
                  <RunName run={entry.run} />
                </th>
                <td class="number mean">{number(entry.mean, format)}</td>
                <td class="number">{span(entry.interval, format)}</td>
                <td class="number">
                  <CoverageShare coverage={entry.coverage} />
                </td>
                {withBounds && <td class="number">{lacks(entry.coverage) && bounds(entry.bounds, format)}</td>}
                {withRemarks && (
                  <td class="words">
                    {entry.reason !== null && (
                      <span class="doubt">
                        no rank: <Name text={entry.reason} />
                      </span>
                    )}
                    <Listed>
                      {entry.beaten_by.map((name) => (
                        <Winning key={name} name={name} over={entry.run} metric={metric.name} />
                      ))}
                    </Listed>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="muted legend">
        {!metric.higher_is_better && "Lower is better. "}
        Rank is 1 + the number of runs that are better; = marks ties. Better is by a paired t test of each two runs,
        adjusted for all pairs (Holm), at {ranking.alpha}; what a run failed on counts against it. A rank takes a
        coverage of {Math.round(100 * ranking.min_coverage)} %.
        {ranking.questions !== null &&
          ` Means are over the ${plural(ranking.questions, "question")} that all ranked runs measured.`}
        {withBounds &&
          " Worst..best is the mean of the whole run, had everything missing scored its worst or its best."}
      </p>
    </>
  );
}

/** The name of a run that beats another; where the two are compared, a link to that. */
function Winning({ name, over, metric }: { name: string; over: number; metric: string }) {
  const { runs, pairs } = useReport().overview;
  const run = runs.findIndex(({ label }) => label === name);
  const pair = pairs.find((one) => one.includes(run) && one.includes(over));
  const shown = <NamedRun name={name} />;
  if (pair === undefined) return shown;
  const [baseline = "", candidate = ""] = pair.map((one) => runs[one]?.label);
  return <a href={linkTo({ page: "compare", baseline, candidate, metric })}>{shown}</a>;
}

function place({ rank }: Entry, entries: Entry[]): string {
  if (rank === null) return ABSENT;
  return entries.filter((other) => other.rank === rank).length > 1 ? `=${count(rank)}` : count(rank);
}
