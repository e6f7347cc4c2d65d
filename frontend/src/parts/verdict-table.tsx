/** What the comparison of two runs says of every metric, and what it is made of. */

import { count, number, percentage, plural, pValue, span } from "../format";
import type { Comparison, Metric, Verdict } from "../model";
import { useReport } from "../report";
import { linkTo } from "../route";
import { Listed } from "./listed";
import { RunName } from "./runs";
import { Scroll } from "./scroll";
import { Name } from "./text";

const VERDICTS: Record<Verdict, { sign: string; tone: string }> = {
  better: { sign: "▲", tone: "good" },
  worse: { sign: "▼", tone: "bad" },
  equivalent: { sign: "=", tone: "" },
  "no difference shown": { sign: "○", tone: "muted" },
  "cannot say": { sign: "?", tone: "doubt" },
};

export function VerdictWords({ verdict }: { verdict: Verdict }) {
  const { sign, tone } = VERDICTS[verdict];
  return (
    <span class={`verdict ${tone}`}>
      <span aria-hidden="true">{sign}</span> {verdict}
    </span>
  );
}

export function VerdictTable({ comparison, chosen }: { comparison: Comparison; chosen: string }) {
  const { overview } = useReport();
  const { baseline, candidate } = comparison;
  const label = (run: number) => overview.runs[run]?.label ?? "";
  const formats = new Map(overview.metrics.map(({ name, format }) => [name, format]));
  return (
    <section aria-labelledby="verdicts">
      <h2 id="verdicts">All metrics</h2>
      <Scroll label="Verdicts by metric">
        <table class="by-run comparison">
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
                      href={linkTo({
                        page: "compare",
                        baseline: label(baseline),
                        candidate: label(candidate),
                        metric: one.metric,
                      })}
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
                    </div>
                    {one.verdict === "no difference shown" && one.smallest_detectable !== null && (
                      <div class="muted small">
                        smallest difference it could detect: {number(one.smallest_detectable, format)}
                      </div>
                    )}
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

/** Which samples pair, and what the numbers of the table are adjusted for. */
export function Pairing(props: { comparison: Comparison; onlyBaseline: Metric[]; onlyCandidate: Metric[] }) {
  const { comparison, onlyBaseline, onlyCandidate } = props;
  const { baseline, candidate, only_in_baseline, only_in_candidate } = comparison;
  const only = (run: number, metrics: Metric[]) =>
    metrics.length > 0 && (
      <li>
        Only <RunName run={run} /> has{" "}
        <Listed>
          {metrics.map(({ name }) => (
            <Name key={name} text={name} />
          ))}
        </Listed>
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
      {comparison.comparisons.some(({ verdict }) => verdict === "no difference shown") && (
        <li>
          That no difference is shown does not mean that there is none. Whether it is too small to matter can be told
          with a margin: <code>fastrag report --margin</code>.
        </li>
      )}
      {left(baseline, only_in_baseline)}
      {left(candidate, only_in_candidate)}
      {only(baseline, onlyBaseline)}
      {only(candidate, onlyCandidate)}
      {comparison.notes.length > 0 && (
        <li>
          <details>
            <summary>{plural(comparison.notes.length, "note")} on failures and coverage</summary>
            <ul>
              {comparison.notes.map((note) => (
                <li key={note}>
                  <Name text={note} />
                </li>
              ))}
            </ul>
          </details>
        </li>
      )}
    </ul>
  );
}
