/** A table of questions, narrowed by words and by what became of them. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Kind, Search, Shown, ShowOnly, useWords } from "./filters";
import { useRemembered } from "./remembered";
import { Name } from "./text";
import { type Column, VirtualTable } from "./virtual-table";

interface Props {
  /** Names the table among those whose words, kinds and sort order are remembered. */
  name: string;
  label: string;
  texts: readonly string[];
  /** What is above the kinds. */
  legend: string;
  kinds: readonly Kind[];
  isOf: (question: number, kind: string) => boolean;
  /** Of the column of questions, in rem. */
  textWidth: number;
  /** The columns behind it. */
  columns: readonly Column[];
  href: (question: number) => string;
  /** What else can be chosen. */
  children?: ComponentChildren;
}

const placeColumn: Column = {
  key: "place",
  title: "No.",
  width: 4,
  numeric: true,
  cell: (question) => question + 1,
  order: (question) => question,
};

export function QuestionTable(props: Props) {
  const { name, label, texts, legend, kinds, isOf, textWidth, columns, href, children } = props;
  const [words, setWords] = useRemembered(`${name} words`, "");
  const [chosen, setChosen] = useRemembered<string[]>(`${name} kinds`, []);
  const hasWords = useWords(texts, words);
  const present = useMemo(() => kinds.filter(({ count }) => count > 0), [kinds]);
  const all = useMemo(() => texts.map((_, question) => question), [texts]);
  const rows = useMemo(() => {
    // What there is nothing of narrows nothing.
    const wanted = chosen.filter((key) => present.some((kind) => kind.key === key));
    return all.filter(
      (question) => (wanted.length === 0 || wanted.some((key) => isOf(question, key))) && hasWords(question),
    );
  }, [all, chosen, present, isOf, hasWords]);
  const head = useMemo(
    (): Column => ({
      key: "text",
      title: "Question",
      width: textWidth,
      cell: (question) => <Name text={texts[question] ?? ""} />,
      order: (question) => texts[question] ?? "",
    }),
    [texts, textWidth],
  );
  const others = useMemo(() => [placeColumn, ...columns], [columns]);
  return (
    <>
      <div class="choices">
        {children}
        <Search label="Search the questions" value={words} onChange={setWords} />
        <ShowOnly legend={legend} kinds={present} chosen={chosen} onChange={setChosen} />
      </div>
      <Shown rows={rows.length} all={all.length} what="questions" />
      <VirtualTable
        name={name}
        label={label}
        rows={rows}
        choice={JSON.stringify([words, chosen])}
        head={head}
        columns={others}
        href={href}
      />
    </>
  );
}
