/** Means with their intervals, one row a run: those that overlap are seen to. */
import { axisFy, axisX, axisY, dot, gridX, ruleY } from "@observablehq/plot";
import { useCallback } from "preact/hooks";
import { number, plain, span } from "../format";
import type { Interval, Metric, Num } from "../model";
import { useReport } from "../report";
import { Chart, TIP } from "./chart";
import { runColour, runSymbol } from "./runs";
import { extent, tickCount } from "./scale";

interface IntervalRow {
  run: number;
  /** Of the slice; "" where there are none. */
  group: string;
  mean: Num;
  interval: Interval | null;
}

const ROW_HEIGHT = 20;
/** Narrower than this, names are cut to what leaves room for the chart. */
const WIDE = 560;

/** The rows of a group together, or each with its run's name where there are no groups. */
export function IntervalChart({ metric, rows, label }: { metric: Metric; rows: IntervalRow[]; label: string }) {
  const { runs } = useReport().overview;
  const options = useCallback(
    (width: number) => {
      const isWide = width > WIDE;
      const most = isWide ? 32 : 15;
      const shown = rows.filter(({ mean }) => mean !== null);
      const indexes = [...new Set(shown.map(({ run }) => run))].sort((a, b) => a - b);
      const groups = [...new Set(shown.map(({ group }) => group))];
      const isGrouped = groups.some((group) => group !== "");
      const name = (run: number) => plain(runs[run]?.label ?? "", most);
      const names = isGrouped ? groups.map((group) => plain(group, most)) : indexes.map(name);
      const rowHeight = isGrouped ? 13 : ROW_HEIGHT;
      const title = ({ run, group, mean, interval }: IntervalRow) =>
        `${group === "" ? "" : `${plain(group)}: `}${plain(runs[run]?.label ?? "")}\n${number(mean, metric.format)}` +
        (interval === null ? "" : `, interval ${span(interval, metric.format)}`);
      const where = { y: "run", ...(isGrouped ? { fy: "group" } : {}) };
      const colour = ({ run }: IntervalRow) => runColour(run);
      return {
        height: groups.length * (indexes.length * rowHeight + (isGrouped ? 14 : 0)) + 48,
        marginLeft: Math.min(Math.max(...names.map((one) => one.length), 3) * 6.8 + 18, width * 0.4),
        marginRight: 16,
        marginTop: 8,
        marginBottom: 42,
        x: {
          label: plain(metric.name, 40),
          domain: extent(shown.flatMap(({ mean, interval }) => [mean, interval?.low, interval?.high])) ?? [0, 1],
          insetLeft: 8,
          insetRight: 8,
        },
        y: { type: "band" as const, domain: indexes, label: null, axis: null },
        fy: { domain: groups, label: null, axis: null, padding: 0.12 },
        marks: [
          gridX({ stroke: "var(--line)", strokeOpacity: 1, ticks: tickCount(width) }),
          axisX({ ticks: tickCount(width), tickSize: 0 }),
          isGrouped
            ? axisFy({ anchor: "left", tickFormat: (group: string) => plain(group, most), tickSize: 0 })
            : axisY({ tickFormat: name, tickSize: 0 }),
          ruleY(
            shown.filter(({ interval }) => interval !== null),
            {
              ...where,
              x1: ({ interval }: IntervalRow) => interval?.low,
              x2: ({ interval }: IntervalRow) => interval?.high,
              stroke: colour,
              strokeWidth: 2.5,
            },
          ),
          dot(shown, {
            ...where,
            x: "mean",
            fill: colour,
            symbol: ({ run }: IntervalRow) => runSymbol(run),
            r: isGrouped ? 4 : 5,
            title,
            tip: TIP,
          }),
        ],
      };
    },
    [rows, metric, runs],
  );
  return rows.some(({ mean }) => mean !== null) ? <Chart label={label} options={options} /> : null;
}
