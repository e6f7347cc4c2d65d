/** What is missing, in words: why scores are, and how much of a run was measured. */
import { count, percentage } from "../format";
import type { Coverage } from "../model";

/** Kind of reason -> its name, and what it means. */
const REASONS: Record<string, [name: string, meaning: string]> = {
  errored: ["errored", "The pipeline failed on the question: it gave no answer that could be scored."],
  not_attempted: ["not attempted", "The run was stopped, or its budget spent, before it came to this."],
  not_measured: ["not measured", "The metric found nothing to measure in the answer."],
  invalid_score: ["invalid score", "The metric returned something that is no finite number."],
  metric_error: ["metric failed", "The metric itself failed on the answer."],
  judge_unparseable: [
    "judge not readable",
    "The judge's reply did not fit what it was asked for, and neither did the next.",
  ],
  others: ["other failures", "What was too seldom to be shown by itself."],
  unknown: ["unknown", "No reason was recorded."],
  not_applicable: [
    "not applicable",
    "The sample lacks what the metric needs: no pipeline could be scored on it, so it does not count against coverage.",
  ],
};

export const NOT_APPLICABLE = "not_applicable";

/** Kinds in the order in which they are shown: failures first, what cannot be measured at all last. */
export function sortedKinds(kinds: Iterable<string>): string[] {
  const order = Object.keys(REASONS);
  // What is not known here stands before "unknown".
  const place = (kind: string) => (order.includes(kind) ? order.indexOf(kind) : order.indexOf("unknown") - 0.5);
  return [...new Set(kinds)].sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

export function reasonName(kind: string): string {
  return REASONS[kind]?.[0] ?? kind;
}

export function reasonMeaning(kind: string): string {
  return REASONS[kind]?.[1] ?? "";
}

/** Measured of measurable; where something is missing, how much. */
export function CoverageShare({ coverage }: { coverage: Coverage | null }) {
  const missing = coverage === null ? 0 : coverage.measurable - coverage.measured;
  if (missing === 0) return <>{percentage(coverage)}</>;
  return (
    <span class="doubt lacking">
      {percentage(coverage)}
      <span class="remark">{count(missing)} missing</span>
    </span>
  );
}

/** Whether something is missing that could have been measured. */
export function lacks(coverage: Coverage | null): boolean {
  return coverage !== null && coverage.measured < coverage.measurable;
}

/** Below tables that have the column. */
export function BoundsLegend() {
  return (
    <p class="muted legend">
      Worst..best: the mean, had everything missing scored its worst or its best; "-" where that cannot be told.
    </p>
  );
}
