export function QuestionsPage() {
  return <h1>questions</h1>;
}
