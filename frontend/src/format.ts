/** Numbers as the tables of the command line show them. */
import type { Coverage, Interval, Num } from "./model";

export const ABSENT = "-";

/** `value` in a format of Python: ".3f", ".1e". */
export function number(value: Num | undefined, format: string, sign = false): string {
  if (value === null || value === undefined) return ABSENT;
  const decimals = Number(format.slice(1, -1));
  let text = format.endsWith("e") ? value.toExponential(decimals) : value.toFixed(decimals);
  // As Python writes exponents: at least two digits.
  text = text.replace(/e([+-])(\d)$/, "e$10$2");
  return sign && value >= 0 ? `+${text}` : text;
}

export function span(ends: Interval | null | undefined, format: string, sign = false): string {
  if (ends === null || ends === undefined) return ABSENT;
  return `${number(ends.low, format, sign)}..${number(ends.high, format, sign)}`;
}

/** What a number would be at its worst and best. */
export function bounds(ends: { worst: number; best: number } | null, format: string, sign = false): string {
  return ends === null ? ABSENT : `${number(ends.worst, format, sign)}..${number(ends.best, format, sign)}`;
}

/** Measured of measurable, rounded down: 999 of 1000 is not all of them. */
export function percentage(coverage: Coverage | null): string {
  if (coverage === null || coverage.measurable === 0) return ABSENT;
  return `${Math.floor((100 * coverage.measured) / coverage.measurable)}%`;
}

export function pValue(p: Num): string {
  if (p === null) return ABSENT;
  return p < 0.001 ? "<0.001" : p.toFixed(3);
}

export function count(value: number): string {
  return value.toLocaleString("en");
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}]/u;
// Joiners only change how their neighbours are drawn; Persian, Hindi and emoji need them. Variation selectors pick
// the coloured form of a sign.
const HARMLESS = /\u200c|\u200d|\ufe0f/;

/** Whether the character is to be shown as its escape, for it could not be seen, or would move what stands around it. */
export function isInvisible(character: string, multiline: boolean): boolean {
  if (multiline && (character === "\n" || character === "\t")) return false;
  return INVISIBLE.test(character) && !HARMLESS.test(character);
}

/** How Python writes it: \x00, \u202e, \U000e0001. */
export function escaped(character: string): string {
  const known: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  const code = character.codePointAt(0) ?? 0;
  if (known[character] !== undefined) return known[character];
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}

/** A name on one line where there is nothing but plain text (in a chart), cut where it is long. */
export function plain(text: string, most = 80): string {
  const characters = [...text];
  const shown = characters
    .slice(0, most)
    .map((character) => (isInvisible(character, false) ? escaped(character) : character));
  return shown.join("") + (characters.length > most ? "…" : "");
}
