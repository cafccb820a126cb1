// Utilization, waiting jobs and power over time: a row for each policy, all on one time axis.
import uPlot from "uplot";
import type { Bars } from "./bars";
import { choicesBlock } from "./choices";
import { el, folded, onWidth, type Child } from "./dom";
import type { RunModel } from "./model";
import { whenSeen } from "./seen";
import { heldSteps, Steps } from "./steps";
import { colour, onTheme, typeColour } from "./theme";
import { moment, momentTicks, niceStep, short, tick, unitFor } from "./units";
import { seconds, unpack } from "./unpack";
import { GUTTER, MARGIN, type TimeView } from "./view";

const MANY = 6;
const HEIGHT = 84;

interface Layer {
  name: string;
  paint: string; // a name of page.css
  steps: Steps;
  kind: "area" | "line" | "bound";
}

interface Row {
  run: RunModel;
  layers: Layer[]; // areas from the highest (all together) to the lowest
}

export interface SeriesOfRun {
  held: Steps;
  adaptive: Steps;
  pending: Steps;
  power: Steps | null;
  cap: Steps | null;
}

export async function seriesOf(run: RunModel): Promise<SeriesOfRun | null> {
  if (!run.drawn.series) return null;
  const table = await unpack(run.drawn.series);
  if (table.rows === 0) return null;
  const at = seconds(table.get("at"));
  const end = Math.max(run.drawn.makespan_s + at[0]!, at[at.length - 1]!);
  const steps = (name: string, factor: number) =>
    new Steps(
      at,
      Float64Array.from(table.get(name), (v) =>
        v === -1 && name === "power_cap" ? NaN : v * factor,
      ),
      end,
    );
  const share = 100 / run.drawn.nodes;
  return {
    held: steps("held", share),
    adaptive: steps("adaptive", share),
    pending: steps("pending", 1),
    power: table.has("power") ? steps("power", 1e-3) : null,
    cap: table.has("power_cap") ? steps("power_cap", 1e-3) : null,
  };
}

/** Nodes held, by type of job, each on top of those before it; the last one is all. */
function byType(run: RunModel, bars: Bars, end: number): Layer[] {
  const { types, type } = run.workload;
  const share = 100 / run.drawn.nodes;
  const list: Layer[] = [];
  const used = types.map((_, t) => t).filter((t) => type.some((v) => v === t));
  const include = new Set<number>();
  for (const t of used) {
    include.add(t);
    const rows: number[] = [];
    for (let i = 0; i < bars.rows; i++) if (include.has(type[bars.job[i]!]!)) rows.push(i);
    const pick = (of: ArrayLike<number>) => Float64Array.from(rows, (i) => of[i]!);
    const weight = Float64Array.from(
      rows,
      (i) => share * (bars.last[i]! - bars.first[i]! + 1) * bars.part(i),
    );
    list.push({
      name: types[t]!,
      paint: typeColour(types[t]!),
      kind: "area",
      steps: heldSteps(
        pick(bars.from),
        pick(bars.until),
        weight,
        Math.min(0, bars.from[0] ?? 0),
        end,
      ),
    });
  }
  return list.reverse();
}

function corridorSteps(run: RunModel, end: number): Layer[] {
  const lines = run.drawn.corridor ?? [];
  if (lines.length === 0) return [];
  const at = Float64Array.from(lines, (l) => l.at_s);
  return (["low_w", "high_w"] as const).map((bound) => ({
    name: bound === "low_w" ? "corridor, from" : "corridor, to",
    paint: "bound",
    kind: "bound" as const,
    steps: new Steps(
      at,
      Float64Array.from(lines, (l) => l[bound] ?? NaN),
      end,
    ),
  }));
}

class Chart {
  private plot: uPlot | null = null;
  private readonly holder: HTMLElement;
  private readonly mean = el("span", { class: "soft" });
  readonly element: HTMLElement;

  constructor(
    private readonly row: Row,
    private readonly view: TimeView,
    private readonly top: number,
    private readonly unit: { name: string; size: number },
    title: string,
    private readonly isLast: () => boolean,
  ) {
    const all = row.layers[0]!.steps;
    this.holder = el("div", {
      class: "plot",
      role: "img",
      "aria-label": `${title} under ${row.run.name}: mean ${this.text(all.mean(all.times[0]!, all.end))}, at most ${this.text(all.most())}`,
    });
    this.element = el(
      "figure",
      { class: "strip" },
      el("figcaption", {}, el("strong", {}, row.run.name), " ", this.mean),
      this.holder,
    );
    onWidth(this.holder, () => this.make());
    onTheme(() => this.make());
    view.onChange(whenSeen(this.element, () => this.update()));
  }

  private text(v: number): string {
    return `${short(v / this.unit.size)} ${this.unit.name}`.trim();
  }

  private data(): uPlot.AlignedData {
    const n = Math.max(50, Math.min(1600, this.holder.clientWidth - GUTTER - MARGIN));
    const { from, until } = this.view;
    const width = (until - from) / n;
    const xs = Array.from({ length: n }, (_, i) => from + (i + 0.5) * width);
    return [
      xs,
      ...this.row.layers.map((layer) =>
        (layer.kind === "area"
          ? layer.steps.means(from, until, n)
          : layer.steps.samples(from, until, n)
        ).map((v) => (v === null ? null : v / this.unit.size)),
      ),
    ] as uPlot.AlignedData;
  }

  private caption(): void {
    const { steps } = this.row.layers[0]!;
    const from = Math.max(this.view.from, steps.times[0]!);
    const until = Math.min(this.view.until, steps.end);
    this.mean.textContent =
      until > from ? `mean ${this.text(steps.mean(from, until))} in view` : "";
  }

  /** The values under the cursor, which is at the same time in all pictures. */
  private say(u: uPlot, i: number): void {
    const values = this.row.layers.map((layer, k) => {
      const v = u.data[k + 1]![i];
      // Layers lie on each other: of an area what is between it and the one below.
      const below =
        layer.kind === "area" && this.row.layers[k + 1]?.kind === "area"
          ? (u.data[k + 2]![i] ?? 0)
          : 0;
      return v == null ? "" : `${layer.name} ${short(v - below)}`;
    });
    const at = moment(u.data[0]![i]!, this.view.span / 200, this.view.end);
    this.mean.textContent = `${values.filter((text) => text !== "").join(", ")} ${this.unit.name} at ${at}`;
  }

  private update(): void {
    if (!this.plot) return;
    this.plot.batch(() => {
      this.plot!.setData(this.data(), false);
      this.plot!.setScale("x", { min: this.view.from, max: this.view.until });
    });
    this.caption();
  }

  private make(): void {
    this.plot?.destroy();
    const ink = colour("soft");
    const grid = { stroke: colour("grid"), width: 1 };
    const stepY = niceStep(this.top / this.unit.size / 3);
    const { view } = this;
    this.plot = new uPlot(
      {
        width: this.holder.clientWidth,
        height: HEIGHT + (this.isLast() ? 24 : 0),
        legend: { show: false },
        padding: [6, MARGIN, this.isLast() ? 0 : 6, 0],
        cursor: {
          y: false,
          sync: { key: "ductile-time" },
          points: { show: false },
          drag: { x: true, y: false, setScale: false },
          bind: { dblclick: () => () => (view.reset(), null) },
        },
        select: { show: true, left: 0, top: 0, width: 0, height: 0 },
        scales: {
          x: { time: false, range: () => [view.from, view.until] },
          y: { range: [0, this.top / this.unit.size] },
        },
        axes: [
          {
            stroke: ink,
            grid,
            ticks: { show: false },
            size: this.isLast() ? 24 : 0,
            gap: 4,
            font: "12px system-ui, sans-serif",
            splits: (u) =>
              momentTicks(view.from, view.until, u.bbox.width / devicePixelRatio / 110).at,
            values: (u, ticks) => {
              if (!this.isLast()) return ticks.map(() => "");
              const { step } = momentTicks(
                view.from,
                view.until,
                u.bbox.width / devicePixelRatio / 110,
              );
              return ticks.map((t) => moment(t, step, view.end));
            },
          },
          {
            stroke: ink,
            grid,
            ticks: { show: false },
            size: GUTTER,
            font: "12px system-ui, sans-serif",
            splits: () => {
              const list = [];
              for (let i = 0; i * stepY <= (this.top / this.unit.size) * 1.0001; i++)
                list.push(i * stepY);
              return list;
            },
            values: (_, ticks) => ticks.map((v) => tick(v)),
          },
        ],
        series: [
          {},
          ...this.row.layers.map((layer): uPlot.Series => ({
            label: layer.name,
            points: { show: false },
            stroke: colour(layer.paint),
            width: layer.kind === "area" ? 0 : 1.5,
            spanGaps: false,
            fill: layer.kind === "area" ? colour(layer.paint) : undefined,
            dash: layer.kind === "bound" ? [6, 3] : undefined,
          })),
        ],
        hooks: {
          setCursor: [
            (u) => {
              const i = u.cursor.idx;
              if (i == null || (u.cursor.left ?? -1) < 0) this.caption();
              else this.say(u, i);
            },
          ],
          setSelect: [
            (u) => {
              if (u.select.width < 4) return;
              view.set(
                u.posToVal(u.select.left, "x"),
                u.posToVal(u.select.left + u.select.width, "x"),
              );
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
        },
      },
      this.data(),
      this.holder,
    );
    this.caption();
  }
}

function block(
  title: string,
  unitName: string,
  rows: Row[],
  view: TimeView,
  top: number,
): HTMLElement {
  const unit = unitFor(unitName, [top]);
  const keys = new Map<string, Layer>();
  for (const row of rows) for (const layer of row.layers) keys.set(layer.name, layer);
  let last = (rows.length <= MANY + 1 ? rows.length : MANY) - 1;
  const box = folded(
    rows,
    MANY,
    (row) => {
      const i = rows.indexOf(row);
      return new Chart(row, view, top, unit, title, () => i === last || i === rows.length - 1)
        .element;
    },
    "policies",
  );
  last = rows.length - 1;
  return el(
    "div",
    { class: "strips" },
    el("h3", {}, title, " ", el("span", { class: "soft" }, unit.name)),
    el(
      "p",
      { class: "legend" },
      [...keys.values()].map((layer) =>
        el(
          "span",
          { class: "key" },
          el("i", { class: layer.kind, style: `background: var(--${layer.paint})` }),
          layer.name,
        ),
      ),
    ),
    box,
  );
}

export function seriesSection(
  runs: RunModel[],
  all: (SeriesOfRun | null)[],
  bars: (Bars | null)[],
  view: TimeView,
  toolbar: HTMLElement,
): HTMLElement {
  const parts: Child[] = [];
  const some = runs.filter((run) => all[run.index]);
  const rows = (make: (run: RunModel, series: SeriesOfRun) => Layer[]): Row[] =>
    some
      .map((run) => ({ run, layers: make(run, all[run.index]!) }))
      .filter((row) => row.layers.length > 0);
  const used = rows((run, series) => {
    const its = bars[run.index];
    if (its && its.rows > 0) return byType(run, its, series.held.end);
    return [
      { name: "rigid", paint: "type0", kind: "area", steps: series.held },
      { name: "adaptive", paint: "type4", kind: "area", steps: series.adaptive },
    ];
  });
  parts.push(block("Utilization by type of job", "%", used, view, 100));
  const waiting = rows((_, series) => [
    { name: "jobs", paint: "waiting", kind: "area", steps: series.pending },
  ]);
  parts.push(
    block(
      "Jobs that wait",
      "jobs",
      waiting,
      view,
      Math.max(1, ...waiting.map((row) => row.layers[0]!.steps.most())) * 1.02,
    ),
  );
  const power = rows((run, series) => {
    if (!series.power) return [];
    const layers: Layer[] = [{ name: "power", paint: "power", kind: "area", steps: series.power }];
    layers.push(...corridorSteps(run, series.held.end));
    if (series.cap)
      layers.push({ name: "power cap", paint: "cap", kind: "bound", steps: series.cap });
    return layers;
  });
  if (power.length > 0) {
    const top =
      Math.max(1, ...power.flatMap((row) => row.layers.map((layer) => layer.steps.most()))) * 1.05;
    parts.push(block("Power", "W", power, view, top));
  }
  parts.push(choicesBlock(runs, view));
  return el(
    "section",
    { id: "time" },
    el("h2", {}, "Over time"),
    el(
      "p",
      { class: "soft hint" },
      "Drag over a picture to look closer; a double click shows all. All pictures over time move together, the chart of the nodes below, too.",
    ),
    toolbar,
    parts,
  );
}
