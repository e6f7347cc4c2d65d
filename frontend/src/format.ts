/** Numbers as the tables of the command line show them. */
import type { Coverage, Interval, Num } from "./model";

export const ABSENT = "-";

/** So many more decimals show whether a number lies in the middle between two. */
const EXACT = 30;

/** `value` in a format of Python: ".3f", ".1e". */
export function number(value: Num | undefined, format: string, sign = false): string {
  if (value === null || value === undefined) return ABSENT;
  const decimals = Number(format.slice(1, -1));
  const written = (places: number) => (format.endsWith("e") ? value.toExponential(places) : value.toFixed(places));
  const [digits = "", exponent] = written(decimals + EXACT).split("e");
  const down = digits.slice(0, -EXACT).replace(/\.$/, "");
  // What lies in the middle, Python rounds to the even digit, and `toFixed` away from 0: 0.0625 is 0.062.
  const isMiddle = /^50*$/.test(digits.slice(-EXACT));
  let text = written(decimals);
  if (isMiddle && /[02468]$/.test(down)) text = exponent === undefined ? down : `${down}e${exponent}`;
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

/** A share, rounded down as `percentage` is. */
export function percent(share: number): string {
  // What is stored as 0.28999999999999998 is 29 %.
  return `${Math.floor(100 * share + 1e-9)}%`;
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

/** A text of at most so many characters: one that is longer loses its middle, for ends tell names apart. */
export function shortened(text: string, most: number): string {
  const characters = [...text];
  if (characters.length <= most) return text;
  const tail = Math.floor(((most - 1) * 2) / 5);
  return `${characters.slice(0, most - 1 - tail).join("")}…${characters.slice(-tail).join("")}`;
}

/** A name on one line, where there is nothing but plain text: in a chart, or an attribute. */
export function plain(text: string, most = 80): string {
  return [...shortened(text, most)]
    .map((character) => (isInvisible(character, false) ? escaped(character) : character))
    .join("");
}

/** "2026-11-30 09:05 UTC"; what is no such time stays as it is written. */
export function moment(iso: string): string {
  // Without a zone, what a browser makes of it would depend on where it runs.
  const time = /(Z|[+-]\d\d:?\d\d)$/.test(iso) ? new Date(iso) : null;
  if (time === null || Number.isNaN(time.getTime())) return plain(iso.replace("T", " "), 40);
  return `${time.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** "12.3 s", "3 min 20 s", "2 h 5 min". */
export function duration(seconds: number): string {
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}
