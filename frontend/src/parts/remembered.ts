/** What a reader chose on a page, kept until the report is closed, so that going on to a question and back loses nothing. */
import { useState } from "preact/hooks";

const kept = new Map<string, unknown>();

/** Like useState; `key` names what is kept, and does not change while a component lives. */
export function useRemembered<T>(key: string, initial: T): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => (kept.has(key) ? (kept.get(key) as T) : initial));
  const choose = (chosen: T) => {
    kept.set(key, chosen);
    setValue(chosen);
  };
  return [value, choose];
}
