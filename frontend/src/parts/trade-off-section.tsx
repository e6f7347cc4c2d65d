/** Quality against latency and cost: which runs no other one beats in everything. */
import { dot, gridX, gridY, type Markish } from "@observablehq/plot";
import { useCallback, useState } from "preact/hooks";
import { number, plain } from "../format";
import type { Metric, TradeOffs } from "../model";
import { useReport } from "../report";
import { Chart, TIP } from "./chart";
import { Choice } from "./choice";
import { Listed } from "./listed";
import { NamedRun, RunName, runColour, runSymbol } from "./runs";
import { tickCount } from "./scale";
import { Scroll } from "./scroll";
import { numbers, TableHead, words } from "./table-head";
import { LongText, Name } from "./text";

export function TradeOffSection() {
  const every = useReport().overview.trade_offs;
  const [chosen, setChosen] = useState(every[0]?.metrics[0] ?? "");
  const tradeOffs = every.find(({ metrics }) => metrics[0] === chosen) ?? every[0];
  if (tradeOffs === undefined) return null;
  const [quality = "", ...prices] = tradeOffs.metrics;
  return (
    <section aria-labelledby="trade-offs">
      <h2 id="trade-offs">Quality against {prices.map(plainPrice).join(" and ")}</h2>
      <Choice
        label="Quality by"
        names={every.map(({ metrics }) => metrics[0] ?? "")}
        chosen={quality}
        onChoose={setChosen}
      />
      {tradeOffs.problem === null ? <Front tradeOffs={tradeOffs} /> : <LongText text={tradeOffs.problem} />}
    </section>
  );
}

function plainPrice(metric: string): string {
  return { latency_ms: "latency", cost_usd: "cost" }[metric] ?? plain(metric, 40);
}

function Front({ tradeOffs }: { tradeOffs: TradeOffs }) {
  const { metrics, runs } = useReport().overview;
  const known = tradeOffs.metrics.flatMap((name) => metrics.find((metric) => metric.name === name) ?? []);
  const [quality, ...prices] = known;
  const front = tradeOffs.entries.filter((entry) => entry.on_front);
  const names = front.map(({ run }) => plain(runs[run]?.label ?? "", 40)).join(", ");
  if (quality === undefined) return null;
  return (
    <>
      <div class="side-by-side">
        {prices.map((price) => (
          <Scatter key={price.name} entries={tradeOffs.entries} quality={quality} price={price} names={names} />
        ))}
      </div>
      <Scroll label="Quality, latency and cost of every run">
        <table class="by-run">
          <caption class="visually-hidden">Means of every run, and which runs are on the front</caption>
          <TableHead
            columns={[words("Run"), ...numbers(...known.map((metric) => <Name text={metric.name} />)), words("Front")]}
          />
          <tbody>
            {tradeOffs.entries.map((entry) => (
              <tr key={entry.run}>
                <th scope="row">
                  <RunName run={entry.run} />
                </th>
                {known.map((metric) => (
                  <td key={metric.name} class="number">
                    {number(entry.means[metric.name], metric.format)}
                  </td>
                ))}
                <td class="words">
                  <Standing entry={entry} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="muted legend">
        Filled marks are on the front: no other run is at least as good in everything and better in something, be it by
        a hair: no test is made here, the ranking has one. Means are over the questions that all these runs measured in
        all of this, and so are not those of the table above.
      </p>
    </>
  );
}

function Standing({ entry }: { entry: TradeOffs["entries"][number] }) {
  if (entry.reason !== null)
    return (
      <span class="doubt">
        not compared: <Name text={entry.reason} />
      </span>
    );
  if (entry.on_front) return <strong class="good">on the front</strong>;
  return (
    <span class="muted">
      dominated by{" "}
      <Listed>
        {entry.dominated_by.map((name) => (
          <NamedRun key={name} name={name} />
        ))}
      </Listed>
    </span>
  );
}

/** Prices this far apart are on a logarithmic scale. */
const WIDE = 30;

function Scatter({
  entries,
  quality,
  price,
  names,
}: {
  entries: TradeOffs["entries"];
  quality: Metric;
  price: Metric;
  names: string;
}) {
  const { runs } = useReport().overview;
  const options = useCallback(
    (width: number) => {
      const shown = entries.flatMap(({ run, means, on_front }) => {
        const [x, y] = [means[price.name], means[quality.name]];
        return x === undefined || y === undefined ? [] : [{ run, x, y, on_front }];
      });
      const xs = shown.map(({ x }) => x);
      const isWide = Math.min(...xs) > 0 && Math.max(...xs) > WIDE * Math.min(...xs);
      const marks: Markish[] = [
        gridX({ stroke: "var(--line)", strokeOpacity: 1, ticks: tickCount(width) }),
        gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: 5 }),
      ];
      for (const one of shown) {
        const colour = runColour(one.run);
        marks.push(
          dot([one], {
            x: "x",
            y: "y",
            symbol: runSymbol(one.run),
            r: 6,
            fill: one.on_front ? colour : "var(--back)",
            stroke: colour,
            strokeWidth: 2,
            title: () =>
              `${plain(runs[one.run]?.label ?? "")}\n${plain(quality.name)} ${number(one.y, quality.format)}\n` +
              `${plain(price.name)} ${number(one.x, price.format)}${one.on_front ? "\non the front" : ""}`,
            tip: TIP,
          }),
        );
      }
      return {
        height: 270,
        marginLeft: 48,
        marginTop: 26,
        marginBottom: 42,
        insetLeft: 14,
        insetRight: 14,
        insetTop: 12,
        insetBottom: 12,
        x: {
          type: isWide ? "log" : "linear",
          label: `${plain(price.name, 40)}${price.higher_is_better ? "" : " (lower is better)"}`,
          ticks: tickCount(width),
          ...(isWide ? { tickFormat: "~s" } : {}),
        } as const,
        y: { label: plain(quality.name, 40), ticks: 5 },
        marks,
      };
    },
    [entries, quality, price, runs],
  );
  return (
    <Chart
      label={`${plain(quality.name)} by ${plain(price.name)}, a mark a run. On the front: ${names}.`}
      options={options}
    />
  );
}
