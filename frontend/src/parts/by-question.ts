/** The columns of a run, which stand by position, as they are asked for: by question of the report. */
import type { MetricComparison, Num, Scores } from "../model";

/** Where each question stands in the run for the first time, from 0; -1 where it was not asked. */
export function firstPositions(run: Scores, questions: number): Int32Array {
  const first = new Int32Array(questions).fill(-1);
  for (let position = run.question.length - 1; position >= 0; position--) {
    const question = run.question[position];
    if (question !== undefined) first[question] = position;
  }
  return first;
}

export interface QuestionScores {
  /** The mean over the scores of all repeats; NaN where there is none. */
  means: Float64Array;
  /** Whether every repeat was measured. */
  inFull: Uint8Array;
}

export function scoresByQuestion(run: Scores, metric: string, questions: number): QuestionScores {
  const sums = new Float64Array(questions);
  const measured = new Uint32Array(questions);
  const asked = new Uint32Array(questions);
  const scores = run.scores[metric] ?? [];
  run.question.forEach((question, position) => {
    asked[question] = (asked[question] ?? 0) + 1;
    const score = scores[position] ?? null;
    if (score === null) return;
    measured[question] = (measured[question] ?? 0) + 1;
    sums[question] = (sums[question] ?? 0) + score;
  });
  return {
    means: sums.map((sum, question) => sum / (measured[question] ?? 0)),
    inFull: Uint8Array.from(asked, (times, question) => Number(times > 0 && times === measured[question])),
  };
}

/** A score, or a difference of scores, that NaN stands for where there is none. */
export function known(value: number | undefined): Num {
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** What the tests are made of: the differences of questions that both runs measured in full. */
export function pairedDifferences(baseline: QuestionScores, candidate: QuestionScores): number[] {
  const differences: number[] = [];
  baseline.means.forEach((before, question) => {
    const after = candidate.means[question];
    if (after !== undefined && baseline.inFull[question] && candidate.inFull[question])
      differences.push(after - before);
  });
  return differences;
}

/** Letters of `MetricComparison.changes`, in the order of interest. */
export const CHANGES = [
  { letter: "f", word: "fixed", sign: "▲", tone: "good" },
  { letter: "b", word: "broken", sign: "▼", tone: "bad" },
  { letter: "y", word: "flaky", sign: "≈", tone: "doubt" },
  { letter: "u", word: "unchanged", sign: "=", tone: "muted" },
  { letter: "n", word: "not measured", sign: "–", tone: "muted" },
  { letter: ".", word: "in one run only", sign: "–", tone: "muted" },
] as const;

export function changeOf(comparison: MetricComparison, question: number) {
  const letter = comparison.changes[question];
  return CHANGES.find((change) => change.letter === letter) ?? CHANGES[5];
}
