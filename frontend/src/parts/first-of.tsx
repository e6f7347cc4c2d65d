/** The first of many, and the rest when it is asked for: a list without end must not hold up the page. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count } from "../format";

const SHOWN_AT_FIRST = 200;

/** `things` is what the list is of, in the plural. */
export function FirstOf<T>(props: { all: T[]; things: string; children: (shown: T[]) => ComponentChildren }) {
  const { all, things, children } = props;
  const [whole, setWhole] = useState(false);
  const isCut = !whole && all.length > SHOWN_AT_FIRST;
  return (
    <>
      {children(isCut ? all.slice(0, SHOWN_AT_FIRST) : all)}
      {isCut && (
        <p>
          <button type="button" onClick={() => setWhole(true)}>
            Show all {count(all.length)} {things}
          </button>
        </p>
      )}
    </>
  );
}
