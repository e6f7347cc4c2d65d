/** A chart by Observable Plot, drawn for the width there is. */
import { type PlotOptions, plot, type TipOptions } from "@observablehq/plot";
import { useEffect, useRef, useState } from "preact/hooks";
import "../styles/chart.css";

/** How the box looks that says what a mark stands for: the `tip` of Plot's marks. */
export const TIP: TipOptions = { fontSize: 12, lineHeight: 1.3, stroke: "var(--line)" };

interface ChartProps {
  /** A sentence that says what the chart shows, for those who do not see it. */
  label: string;
  /**
   * What to draw at a width in pixels. Drawn again when this is another function, so wrap it into `useCallback`.
   * Colours are CSS variables ("var(--run-0)", see `runs.tsx`): they change with the theme by themselves. Names go
   * through `plain` of `format.ts`.
   */
  options: (width: number) => PlotOptions;
}

export function Chart({ label, options }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0) frame.current?.replaceChildren(drawn({ width, ...options(width) }));
  }, [width, options]);
  return <div class="chart" role="img" aria-label={label} ref={frame} />;
}

/** Without the rules that Plot puts into every chart: the page's policy forbids them; they are in `chart.css`. */
function drawn(options: PlotOptions): Element {
  const chart = plot({ className: "plot", ...options });
  for (const style of chart.querySelectorAll("style")) style.remove();
  // What it shows is said by the frame around it, not by Plot's names of its pieces.
  chart.setAttribute("aria-hidden", "true");
  return chart;
}
