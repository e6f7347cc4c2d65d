export function ErrorsPage() {
  return <h1>errors</h1>;
}
