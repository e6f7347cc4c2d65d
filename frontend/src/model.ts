/**
 * What the pages are told: JSON in parts, each loaded when a page first needs it. Python makes them (`report/html`) and
 * does all statistics; here they are only shown.
 *
 * | part             | what                                                                     |
 * |------------------|--------------------------------------------------------------------------|
 * | `overview`       | `Overview`                                                               |
 * | `questions`      | `Questions`                                                              |
 * | `scores-R`       | `Scores` of the run at index R of `Overview.runs`                        |
 * | `comparison-B-C` | `Comparison` of run C with run B, for the pairs in `Overview.pairs`       |
 * | `details-K`      | `Details` of the questions from K x `questions_per_part`                 |
 */

export type Num = number | null;

export interface Overview {
  schema_version: 1;
  title: string;
  /** Of fastrag. */
  version: string;
  /** Names what was read: the other parts are of the same reading. Empty in a file. */
  snapshot: string;
  /** A run may be under way: ask again for what is new. */
  live: boolean;
  /** Their indexes are their numbers everywhere else. The first is the baseline of the others. */
  runs: Run[];
  metrics: Metric[];
  /** How many different questions there are. */
  questions: number;
  questions_per_part: number;
  /** One a metric. */
  rankings: Ranking[];
  /** One a metric where higher is better, if there is something to trade it for. */
  trade_offs: TradeOffs[];
  slices: Slices[];
  errors: ErrorGroup[];
  /** [baseline, candidate], the baseline being the earlier run. */
  pairs: [number, number][];
  /** What every page says: what is partial, and what could not be read. */
  warnings: string[];
}

export interface Run {
  /** Its name; where another run has the same, with a number behind it. Different for every run. */
  label: string;
  created_at: string;
  duration_s: number;
  samples: number;
  status: { successful: number; errored: number; incomplete: number };
  /** Of a run that has not come to its end. */
  partial: { ended: number; total: number } | null;
  /** What pipeline and judges took, in words; empty where that is not known. */
  spent: string;
  /** By name; the metrics that this run has. */
  metrics: Record<string, Evidence>;
  /** Whether texts and scores of sources, and what judges said, were kept. */
  keeps_sources: boolean;
  keeps_judgements: boolean;
  /** By metric: how often judges gave which verdict; only of judged metrics. */
  verdicts: Record<string, Record<string, number>>;
}

export interface Metric {
  name: string;
  higher_is_better: boolean;
  /** How its numbers are shown, as in Python: ".3f", ".1e". */
  format: string;
  /** Where its scores can lie, if known; an end without a limit is null. */
  range: [Num, Num] | null;
  /** Ends of the bins of every run's `Evidence.histogram`; empty where nothing was measured. */
  bins: number[];
}

export interface Interval {
  low: number;
  high: number;
}

export interface Coverage {
  measured: number;
  measurable: number;
  asked: number;
  reasons: Record<string, number>;
  share: Num;
}

export interface Summary {
  count: number;
  missing: number;
  mean: number;
  median: number;
  std: number;
  min: number;
  max: number;
  percentiles: Record<string, number>;
}

/** What one run says about one metric. */
export interface Evidence {
  mean: Num;
  interval: Interval | null;
  /** n: questions measured at least once. */
  questions: number;
  coverage: Coverage;
  /** The mean with everything missing at its worst and best. */
  bounds: { worst: number; best: number } | null;
  /** "50", "90", "95", "99" -> interval of that percentile. */
  percentiles: Record<string, Interval | null>;
  summary: Summary;
  /** Scores in each of the metric's bins. */
  histogram: number[];
}

export interface Ranking {
  metric: string;
  /** Why there is none; else null, and `entries` is not empty. */
  problem: string | null;
  /** Questions that all qualifying runs measured. */
  questions: Num;
  min_coverage: number;
  alpha: number;
  /** In rank order, those that do not qualify last. */
  entries: {
    run: number;
    rank: Num;
    mean: Num;
    interval: Interval | null;
    coverage: Coverage | null;
    bounds: { worst: number; best: number } | null;
    beaten_by: string[];
    /** Why it has no rank. */
    reason: string | null;
  }[];
}

export interface TradeOffs {
  /** Quality first, then latency and cost as far as they were measured. */
  metrics: string[];
  problem: string | null;
  entries: {
    run: number;
    means: Record<string, number>;
    on_front: boolean;
    dominated_by: string[];
    /** Why it does not take part. */
    reason: string | null;
  }[];
}

/** All runs taken apart by one key of the samples' metadata. */
export interface Slices {
  key: string;
  groups: {
    name: string;
    questions: number;
    /** By run; null where a run has none of the questions. Then by metric. */
    runs: (Record<string, { mean: Num; interval: Interval | null; questions: number; share: Num }> | null)[];
  }[];
}

/** Failures that differ only in numbers and quoted texts. */
export interface ErrorGroup {
  /** "errored", "not_attempted", or why a metric has no score. */
  kind: string;
  /** Of a metric that has no score; null where the pipeline failed. */
  metric: string | null;
  /** The message of the first. */
  message: string;
  /** By run. */
  counts: number[];
  /** Some of them: [run, position in the run]. */
  examples: [number, number][];
}

export interface Questions {
  /** By question; each cut after 300 characters. */
  texts: string[];
}

/** One run, in columns by position in the run. */
export interface Scores {
  /** Index among the questions. */
  question: number[];
  /** A letter each: "s"uccessful, "e"rrored, "i"ncomplete. */
  status: string;
  latency_ms: number[];
  scores: Record<string, Num[]>;
}

export type Verdict = "better" | "worse" | "equivalent" | "no difference shown" | "cannot say";

/** Differences are candidate minus baseline, in the metric's unit, whichever direction is better. */
export interface MetricComparison {
  metric: string;
  higher_is_better: boolean;
  n: number;
  baseline_mean: Num;
  candidate_mean: Num;
  mean_difference: Num;
  interval: Interval | null;
  sd_difference: Num;
  p_t: Num;
  p_permutation: Num;
  p_holm: Num;
  d_z: Num;
  wins: number;
  ties: number;
  losses: number;
  smallest_detectable: Num;
  baseline_coverage: Coverage;
  candidate_coverage: Coverage;
  /** How many questions only the candidate, or only the baseline, failed on. */
  lost: number;
  gained: number;
  difference_bounds: { worst: number; best: number } | null;
  verdict: Verdict;
  reason: string;
  /**
   * A letter a question of the report: "f"ixed, "b"roken, "u"nchanged, flak"y", "n"ot measured by both, "." not asked
   * by both.
   */
  changes: string;
}

export interface Comparison {
  baseline: number;
  candidate: number;
  comparisons: MetricComparison[];
  pairs: number;
  only_in_baseline: number;
  only_in_candidate: number;
  /** How many p are adjusted for: all pairs and metrics of the report. */
  family_size: number;
  alpha: number;
  level: number;
  min_coverage: number;
  /** Sentences for below the table. */
  notes: string[];
}

export interface Details {
  /** By place in the part. */
  questions: QuestionDetails[];
  /** Texts of sources, each once. */
  texts: string[];
}

export interface QuestionDetails {
  text: string;
  /** Of the sample set, where one was given; else null. */
  sample: {
    id: string;
    reference_answer: string | null;
    /** Id -> gain. */
    relevant_ids: Record<string, number>;
    relevant_spans: [string, number, number][];
    metadata: Record<string, string>;
  } | null;
  /** What each run made of it, in the order of the runs and of positions; several of a run where it was repeated. */
  results: SampleDetails[];
}

export interface SampleDetails {
  run: number;
  position: number;
  status: "successful" | "errored" | "incomplete";
  scores: Record<string, Num>;
  answer: string | null;
  latency_ms: number;
  error: string | null;
  /** Known only where outcomes were kept. */
  input_tokens: Num;
  output_tokens: Num;
  attempts: Num;
  /** Best first. */
  sources: Source[];
  /** Ids that are relevant and not among the sources; empty, too, where that cannot be told. */
  missed: string[];
  judgements: Judgement[];
}

export interface Source {
  id: string;
  uri: string;
  /** Null where it was not kept. */
  score: Num;
  /** Index into `Details.texts`; null where it was not kept. */
  text: Num;
  /** Null where that cannot be told. */
  is_relevant: boolean | null;
}

export interface Judgement {
  metric: string;
  score: Num;
  /** Highest minus lowest score of the opinions. */
  spread: Num;
  missing: { kind: string; detail: string } | null;
  opinions: {
    model: string;
    take: number;
    score: Num;
    missing: { kind: string; detail: string } | null;
    reason: string;
    claims: { text: string; verdict: string; sources: number[]; reason: string }[];
    unreadable: string[];
  }[];
}
