export function QuestionPage(_: { run: string; number: number }) {
  return <h1>Question</h1>;
}
