/**
 * A table of any length: only the rows in view are in the document.
 *
 * All rows are of one height, so that where a row stands is a product, not something to measure and to keep for each.
 * The elements are those of a table, laid out by CSS as a grid; that takes their meaning in some browsers, which is why
 * each says its role (and why biome.json lets them).
 */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../format";
import type { Num } from "../model";
import "../styles/virtual-table.css";
import { useMedia, usePrinting } from "./media";
import { useRemembered } from "./remembered";

export interface Column {
  key: string;
  /** What the header says, and what it is called where it says less. */
  title: string;
  /** Stands before the title. */
  mark?: ComponentChildren;
  /** In rem; on a phone, its share. */
  width: number;
  numeric?: boolean;
  cell: (row: number) => ComponentChildren;
  /** What rows are sorted by; null stands last either way. Without it there is no sorting by this column. */
  order?: (row: number) => Num | string;
}

interface Props {
  /** Names the table among those whose sort order is remembered. */
  name: string;
  label: string;
  /** What the rows are about, by numbers that only the columns understand. */
  rows: readonly number[];
  /** Says what was chosen to be among the rows: another choice begins at the top, more rows of the same do not. */
  choice: string;
  /** The column that names the row: it is the link, and takes what width is left. */
  head: Column;
  /** The others, the first before the head. */
  columns: readonly Column[];
  href: (row: number) => string;
}

interface Sort {
  key: string;
  descending: boolean;
}

const ROW_PX = 34;
// On a phone the head has a line of its own.
const TALL_ROW_PX = 60;
const NARROW = "(max-width: 44rem)";
/** Rows drawn beyond both ends of the view, so that scrolling meets none that is not there yet. */
const MARGIN_ROWS = 8;
const PRINTED_ROWS = 200;

function compareKeys(a: Num | string, b: Num | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return a === b ? 0 : (a ?? "") < (b ?? "") ? -1 : 1;
}

/** Stable, so that sorting by one column and then by another does what one means by it. */
function sorted(rows: readonly number[], column: Column | undefined, descending: boolean): readonly number[] {
  const order = column?.order;
  if (order === undefined) return rows;
  const known: { row: number; key: Num | string }[] = [];
  const unknown: number[] = [];
  for (const row of rows) {
    const key = order(row);
    if (key === null) unknown.push(row);
    else known.push({ row, key });
  }
  const sign = descending ? -1 : 1;
  known.sort((a, b) => sign * compareKeys(a.key, b.key));
  return [...known.map(({ row }) => row), ...unknown];
}

interface View {
  first: number;
  last: number;
}

/** Which rows of the scrolled element can be seen, by index; `last` is the first one behind them. */
function viewOf(element: HTMLElement | null, rowPx: number): View {
  if (element === null) return { first: 0, last: 30 };
  const header = element.querySelector("thead")?.offsetHeight ?? 0;
  const first = Math.floor(element.scrollTop / rowPx);
  return { first, last: Math.ceil((element.scrollTop + element.clientHeight - header) / rowPx) };
}

function steps(key: string, page: number): number | null {
  switch (key) {
    case "ArrowDown":
      return 1;
    case "ArrowUp":
      return -1;
    case "PageDown":
      return page;
    case "PageUp":
      return -page;
    case "Home":
      return Number.NEGATIVE_INFINITY;
    case "End":
      return Number.POSITIVE_INFINITY;
    default:
      return null;
  }
}

export function VirtualTable({ name, label, rows, choice, head, columns, href }: Props) {
  const all = useMemo(() => [...columns.slice(0, 1), head, ...columns.slice(1)], [columns, head]);
  const [sort, setSort] = useRemembered<Sort | null>(`sort ${name}`, null);
  const column = all.find(({ key }) => key === sort?.key);
  const inOrder = useMemo(() => sorted(rows, column, sort?.descending ?? false), [rows, column, sort]);

  const rowPx = useMedia(NARROW) ? TALL_ROW_PX : ROW_PX;
  const printing = usePrinting();
  const keys = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<View>({ first: 0, last: 30 });
  // The row that has the focus, by index: it stays in the document however far away one scrolls.
  const [active, setActive] = useState<number | null>(null);
  const wanted = useRef<number | null>(null);

  const look = () => {
    const seen = viewOf(scroller.current, rowPx);
    setView((old) => (old.first === seen.first && old.last === seen.last ? old : seen));
  };
  useLayoutEffect(look, [rowPx, inOrder.length]);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, [rowPx]);

  const chosen = `${choice} ${JSON.stringify(sort)}`;
  const drawn = useRef({ chosen, inOrder });
  useLayoutEffect(() => {
    const before = drawn.current;
    drawn.current = { chosen, inOrder };
    if (before.chosen !== chosen) {
      setActive(null);
      scroller.current?.scrollTo({ top: 0 });
    } else if (before.inOrder !== inOrder && active !== null) {
      const index = inOrder.indexOf(before.inOrder[active] ?? -1);
      setActive(index === -1 ? null : index);
    }
  }, [chosen, inOrder]);

  const show = (index: number) => {
    const element = scroller.current;
    if (element === null) return;
    const header = element.querySelector("thead")?.offsetHeight ?? 0;
    const top = index * rowPx;
    const bottom = top + rowPx - (element.clientHeight - header);
    if (element.scrollTop > top) element.scrollTop = top;
    else if (element.scrollTop < bottom) element.scrollTop = bottom;
    look();
  };
  const moveTo = (index: number) => {
    if (inOrder.length === 0) return;
    const to = Math.min(Math.max(index, 0), inOrder.length - 1);
    show(to);
    // At either end it has the focus already: a wish that nothing is drawn for would be granted when the reader is elsewhere.
    if (to === active) return;
    wanted.current = to;
    setActive(to);
  };
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const link = scroller.current?.querySelector<HTMLElement>(`tr[data-index="${wanted.current}"] a`);
    wanted.current = null;
    link?.focus();
  }, [active, view]);

  // Who comes back from a row goes on at that row.
  useLayoutEffect(() => {
    const left = (window.history.state as { left?: [string, number] } | null)?.left;
    const index = left?.[0] === name ? inOrder.indexOf(left[1]) : -1;
    if (index >= 0) moveTo(index);
  }, []);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const step = steps(event.key, Math.max(1, view.last - view.first - 1));
    if (step === null) return;
    // From the header one comes to the row at the top of the view.
    if (active === null && step < 0) return;
    event.preventDefault();
    moveTo(active === null ? view.first : active + step);
  };

  const sortBy = ({ key }: Column) => {
    if (sort?.key !== key) setSort({ key, descending: false });
    else setSort(sort.descending ? null : { key, descending: true });
  };

  const visible = indexes(view, active, inOrder.length, printing);
  const stop = active ?? Math.min(view.first, inOrder.length - 1);
  const tracks = all.map(({ key, width }) => (key === head.key ? `minmax(${width}rem, 1fr)` : `${width}rem`));
  return (
    <>
      <div class="virtual-table" ref={scroller} onScroll={look}>
        <table
          role="grid"
          aria-label={label}
          aria-readonly="true"
          aria-describedby={keys}
          aria-rowcount={inOrder.length + 1}
          onKeyDown={onKeyDown}
          style={{
            "--columns": tracks.join(" "),
            "--shares": columns.map(({ width }) => `minmax(0, ${width}fr)`).join(" "),
            "--others": String(columns.length),
            "--width": `${all.reduce((sum, { width }) => sum + width, 0)}rem`,
            "--row": `${rowPx}px`,
          }}
        >
          <thead role="rowgroup">
            <tr role="row" aria-rowindex={1}>
              {all.map((one) => (
                <HeaderCell
                  key={one.key}
                  column={one}
                  isHead={one.key === head.key}
                  sort={sort?.key === one.key ? sort : null}
                  onSort={() => sortBy(one)}
                />
              ))}
            </tr>
          </thead>
          <tbody
            role="rowgroup"
            style={printing ? undefined : { height: `${inOrder.length * rowPx}px` }}
            onFocusOut={(event) => {
              const next = event.relatedTarget;
              if (!(next instanceof Node && event.currentTarget.contains(next))) setActive(null);
            }}
          >
            {visible.map((index) => {
              const row = inOrder[index] ?? 0;
              return (
                <Row
                  key={row}
                  row={row}
                  index={index}
                  top={printing ? null : index * rowPx}
                  columns={all}
                  head={head.key}
                  href={href(row)}
                  isStop={index === stop}
                  onFocus={() => setActive(index)}
                  onLeave={() => window.history.replaceState({ left: [name, row] }, "")}
                />
              );
            })}
          </tbody>
        </table>
      </div>
      <p id={keys} class="keys muted no-print">
        <kbd>↑</kbd> <kbd>↓</kbd> <kbd>Page</kbd> <kbd>Home</kbd> <kbd>End</kbd> move between rows, <kbd>Enter</kbd>{" "}
        opens one.
      </p>
      {printing && inOrder.length > PRINTED_ROWS && (
        <p>
          The first {count(PRINTED_ROWS)} of {count(inOrder.length)} rows are printed.
        </p>
      )}
    </>
  );
}

/** Of the rows to draw, from the first to the last. */
function indexes(view: View, active: number | null, total: number, printing: boolean): number[] {
  const from = printing ? 0 : Math.max(0, view.first - MARGIN_ROWS);
  const to = Math.min(total, printing ? PRINTED_ROWS : view.last + MARGIN_ROWS);
  const found = Array.from({ length: Math.max(0, to - from) }, (_, place) => from + place);
  if (active === null || active >= total || printing) return found;
  if (active < from) return [active, ...found];
  return active >= to ? [...found, active] : found;
}

function HeaderCell(props: { column: Column; isHead: boolean; sort: Sort | null; onSort: () => void }) {
  const { column, isHead, sort, onSort } = props;
  const classes = [isHead ? "head" : "", column.numeric ? "number" : ""].join(" ").trim();
  const direction = sort === null ? "none" : sort.descending ? "descending" : "ascending";
  if (column.order === undefined)
    return (
      <th role="columnheader" scope="col" class={classes}>
        {column.mark} {column.title}
      </th>
    );
  return (
    <th role="columnheader" scope="col" class={classes} aria-sort={direction}>
      <button type="button" onClick={onSort} title={column.title}>
        <span class="title">
          {column.mark} {column.title}
        </span>
        <span class="arrow" aria-hidden="true">
          {sort === null ? "" : sort.descending ? "▼" : "▲"}
        </span>
      </button>
    </th>
  );
}

interface RowProps {
  row: number;
  index: number;
  /** Null where it stands is left to the printer. */
  top: number | null;
  columns: readonly Column[];
  head: string;
  href: string;
  isStop: boolean;
  onFocus: () => void;
  onLeave: () => void;
}

function Row({ row, index, top, columns, head, href, isStop, onFocus, onLeave }: RowProps) {
  // The same cells again are not even compared while one scrolls.
  const cells = useMemo(
    () =>
      columns.map((column) => {
        const inner = column.cell(row);
        if (column.key !== head)
          return (
            <td key={column.key} role="gridcell" class={column.numeric ? "number" : undefined}>
              {inner}
            </td>
          );
        return (
          <th key={column.key} role="rowheader" scope="row" class="head">
            <a href={href} tabIndex={isStop ? 0 : -1} onFocus={onFocus} onClick={onLeave}>
              {inner}
            </a>
          </th>
        );
      }),
    // The handlers do the same as long as these are the same.
    [columns, head, href, row, index, isStop],
  );
  return (
    <tr
      role="row"
      aria-rowindex={index + 2}
      data-index={index}
      class={index % 2 === 1 ? "odd" : undefined}
      style={top === null ? undefined : { transform: `translateY(${top}px)` }}
    >
      {cells}
    </tr>
  );
}
