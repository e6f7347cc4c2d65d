/** What narrows a table: words to look for, and kinds of rows. */
import { useMemo } from "preact/hooks";
import { count } from "../format";
import "../styles/filters.css";

export function Search(props: { label: string; value: string; onChange: (text: string) => void }) {
  return (
    <label class="search no-print">
      {props.label}{" "}
      <input type="search" value={props.value} onInput={(event) => props.onChange(event.currentTarget.value)} />
    </label>
  );
}

export interface Kind {
  key: string;
  word: string;
  count: number;
}

/** Nothing chosen shows everything. */
export function ShowOnly(props: {
  legend: string;
  kinds: readonly Kind[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
}) {
  const toggle = (key: string) =>
    props.onChange(props.chosen.includes(key) ? props.chosen.filter((one) => one !== key) : [...props.chosen, key]);
  return (
    <fieldset class="show-only no-print">
      <legend>{props.legend}</legend>
      {props.kinds.map((kind) => (
        <label key={kind.key}>
          <input type="checkbox" checked={props.chosen.includes(kind.key)} onChange={() => toggle(kind.key)} />
          {kind.word} <span class="muted">{count(kind.count)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** How many rows there are, said again by screen readers when it changes. */
export function Shown({ rows, all, what }: { rows: number; all: number; what: string }) {
  return (
    <p role="status" class="shown muted">
      {rows === all ? `All ${count(all)} ${what}` : `${count(rows)} of ${count(all)} ${what}`}
    </p>
  );
}

/** Tells whether a question has all the words, in whatever case. */
export function useWords(texts: readonly string[], words: string): (question: number) => boolean {
  const lower = useMemo(() => texts.map((text) => text.toLowerCase()), [texts]);
  return useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return (question) => wanted.every((word) => lower[question]?.includes(word));
  }, [lower, words]);
}
