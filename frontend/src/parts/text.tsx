/** Others' words, shown as the text they are: nothing in them is markup, invisible, or turns the text around it. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count, escaped, isInvisible } from "../format";

function visible(text: string, multiline: boolean): (string | JSX.Element)[] {
  const pieces: (string | JSX.Element)[] = [];
  let plain = "";
  for (const character of text) {
    if (!isInvisible(character, multiline)) {
      plain += character;
      continue;
    }
    if (plain !== "") pieces.push(plain);
    plain = "";
    pieces.push(<span class="escape">{escaped(character)}</span>);
  }
  if (plain !== "") pieces.push(plain);
  return pieces;
}

/** A name or another short text, on one line. */
export function Name({ text }: { text: string }) {
  const shown = useMemo(() => visible(text, false), [text]);
  return <bdi class="name">{text === "" ? <em>(empty)</em> : shown}</bdi>;
}

const SHOWN_AT_FIRST = 4000;

/** A text of any length, in its own lines; a long one is shown in full only when asked for. */
export function LongText({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > SHOWN_AT_FIRST;
  const shown = useMemo(
    // An emoji must not be cut in half.
    () => visible((cut ? text.slice(0, SHOWN_AT_FIRST) : text).replace(/[\ud800-\udbff]$/, ""), true),
    [text, cut],
  );
  return (
    <div class="long-text" dir="auto">
      {text === "" ? <em>(empty)</em> : shown}
      {cut && (
        <p class="no-print">
          <button type="button" onClick={() => setWhole(true)}>
            Show all {count(text.length)} characters
          </button>
        </p>
      )}
    </div>
  );
}
