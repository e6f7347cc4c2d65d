import type { ComponentChildren } from "preact";
import "../styles/tables.css";

/** What is wider than a phone: it is moved by itself, by keys too, and never the page. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reached by keys
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
