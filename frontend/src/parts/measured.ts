import type { Evidence, Run } from "../model";

/** A run, by its index, and what it says about the metric that a page is about. */
export interface Measured {
  run: number;
  evidence: Evidence;
}

/** Those of the runs that have the metric. */
export function measuredBy(runs: Run[], metric: string): Measured[] {
  return runs.flatMap((run, index) => {
    const evidence = run.metrics[metric];
    return evidence === undefined ? [] : [{ run: index, evidence }];
  });
}
