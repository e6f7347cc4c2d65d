export function MetricPage({ name }: { name: string }) {
  return <h1>{name}</h1>;
}
