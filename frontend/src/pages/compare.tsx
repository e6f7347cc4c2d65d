export function ComparePage(_: { baseline: string; candidate: string; metric: string }) {
  return <h1>Compare</h1>;
}
