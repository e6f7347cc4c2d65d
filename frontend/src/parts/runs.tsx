/** How runs are told apart: by colour, by the shape of their mark and by the dashes of their line. */

import { plain, shortened } from "../format";
import { useReport } from "../report";
import { Name } from "./text";

const COLOURS = 6;

/** Corners of shapes of about the same area, around 0, at a radius of 1; null is a circle. */
const SHAPES: ([number, number][] | null)[] = [
  null,
  polygon(4, 1.15, Math.PI / 4),
  polygon(3, 1.35, -Math.PI / 2),
  polygon(4, 1.25, 0),
  star(5, 1.45, 0.62),
  cross(1.15, 0.42),
  polygon(3, 1.35, Math.PI / 2),
];

const DASHES = ["", "7 3", "2 2", "9 3 2 3", "12 4", "4 2 1 2 1 2", "1 3"];

export function runColour(run: number): string {
  return `var(--run-${run % COLOURS})`;
}

/** For `strokeDasharray`. */
export function runDashes(run: number): string {
  return DASHES[run % DASHES.length] ?? "";
}

interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  arc(x: number, y: number, radius: number, start: number, end: number): void;
  closePath(): void;
}

/** For the `symbol` of Plot. */
export function runSymbol(run: number): { draw(pen: Pen, size: number): void } {
  const corners = SHAPES[run % SHAPES.length] ?? null;
  return {
    draw(pen, size) {
      const radius = Math.sqrt(size / Math.PI);
      if (corners === null) {
        pen.moveTo(radius, 0);
        pen.arc(0, 0, radius, 0, 2 * Math.PI);
        return;
      }
      corners.forEach(([x, y], i) => {
        if (i === 0) pen.moveTo(x * radius, y * radius);
        else pen.lineTo(x * radius, y * radius);
      });
      pen.closePath();
    },
  };
}

/** The run's shape around a point of an `<svg>`. */
export function RunShape({ run, x, y, radius }: { run: number; x: number; y: number; radius: number }) {
  const corners = SHAPES[run % SHAPES.length] ?? null;
  if (corners === null) return <circle cx={x} cy={y} r={radius} fill={runColour(run)} />;
  const points = corners.map(([dx, dy]) => `${(x + dx * radius).toFixed(2)},${(y + dy * radius).toFixed(2)}`);
  return <polygon points={points.join(" ")} fill={runColour(run)} />;
}

/** The run's mark, as a chart has it; with its line, if `line`. */
export function RunMark({ run, line = false }: { run: number; line?: boolean }) {
  const width = line ? 30 : 14;
  return (
    <svg class="run-mark" width={width} height="14" viewBox={`0 0 ${width} 14`} aria-hidden="true">
      {line && (
        <line
          x1="0"
          x2={width}
          y1="7"
          y2="7"
          stroke={runColour(run)}
          stroke-width="2"
          stroke-dasharray={runDashes(run)}
        />
      )}
      {!line && <RunShape run={run} x={7} y={7} radius={4.5} />}
    </svg>
  );
}

const NAME_CHARACTERS = 48;

/** A run's mark and its name; a very long one without its middle, unless it is to be `whole`. */
export function RunName({ run, line = false, whole = false }: { run: number; line?: boolean; whole?: boolean }) {
  const label = useReport().overview.runs[run]?.label ?? "";
  const shown = whole ? label : shortened(label, NAME_CHARACTERS);
  return (
    <span class="run-name" title={shown === label ? undefined : plain(label, 1000)}>
      <RunMark run={run} line={line} />
      <Name text={shown} />
    </span>
  );
}

/** `RunName` of the run with that label. */
export function NamedRun({ name }: { name: string }) {
  const run = useReport().overview.runs.findIndex(({ label }) => label === name);
  return run < 0 ? <Name text={name} /> : <RunName run={run} />;
}

function polygon(corners: number, radius: number, start: number): [number, number][] {
  return Array.from({ length: corners }, (_, i) => at(radius, start + (2 * Math.PI * i) / corners));
}

function star(points: number, outer: number, inner: number): [number, number][] {
  return Array.from({ length: 2 * points }, (_, i) =>
    at(i % 2 === 0 ? outer : inner, -Math.PI / 2 + (Math.PI * i) / points),
  );
}

function cross(outer: number, half: number): [number, number][] {
  const arm: [number, number][] = [
    [half, -half],
    [half, -outer],
    [-half, -outer],
    [-half, -half],
  ];
  // Each arm is the one before it, turned by a quarter to the left.
  return [0, 1, 2, 3].flatMap((turns) =>
    arm.map(([x, y]): [number, number] => {
      const cos = [1, 0, -1, 0][turns] ?? 1;
      const sin = [0, -1, 0, 1][turns] ?? 0;
      return [x * cos - y * sin, x * sin + y * cos];
    }),
  );
}

function at(radius: number, angle: number): [number, number] {
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
}
