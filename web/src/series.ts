// Utilization, waiting jobs and power over time: a row for each policy, all on one time axis.
import uPlot from "uplot";
import type { Bars } from "./bars";
import { choicesBlock } from "./choices";
import { el, folded, onWidth, select, type Child } from "./dom";
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
  /** Filled down to the layer behind it. */
  isBand?: boolean;
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

/** Of the jobs that wait, over the size of the machine. */
function askedFor(run: RunModel, end: number): Steps {
  const { workload } = run;
  const rows: number[] = [];
  const since = (row: number) => workload.submit[row]! + run.heldBack[row]!;
  const until = (row: number) => (run.start[row]! >= 0 ? run.start[row]! : end);
  for (let row = 0; row < workload.jobs; row++) {
    // Of one that still runs only the start is known; one that was rejected asked for nothing.
    const isRejected = run.start[row]! < 0 && run.states[run.state[row]!] === "REJECTED";
    if (!isRejected && until(row) > since(row)) rows.push(row);
  }
  rows.sort((a, b) => since(a) - since(b));
  const pick = (of: (row: number) => number) => Float64Array.from(rows, of);
  const begin = rows.length > 0 ? Math.min(0, since(rows[0]!)) : 0;
  const nodes = run.drawn.nodes;
  return heldSteps(
    pick(since),
    pick(until),
    pick((row) => workload.size[row]! / nodes),
    begin,
    end,
  );
}

function corridorSteps(run: RunModel, end: number): Layer[] {
  const lines = run.drawn.corridor ?? [];
  if (lines.length === 0) return [];
  const at = Float64Array.from(lines, (l) => l.at_s);
  return (["high_w", "low_w"] as const).map((bound) => ({
    name: bound === "low_w" ? "corridor, from" : "corridor, to",
    paint: "bound",
    kind: "bound" as const,
    isBand: bound === "high_w",
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
    private readonly top: () => number,
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

  /** The mean of what is in view as a line, and what was not measured veiled. */
  private mark(u: uPlot): void {
    const { ctx, bbox } = u;
    const part = this.row.run.drawn.measured;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const x = (t: number) => u.valToPos(t, "x", true);
    if (part) {
      ctx.fillStyle = colour("veil");
      ctx.globalAlpha = 0.6;
      if (part.from_s !== null)
        ctx.fillRect(bbox.left, bbox.top, Math.max(0, x(part.from_s) - bbox.left), bbox.height);
      if (part.until_s !== null)
        ctx.fillRect(
          x(part.until_s),
          bbox.top,
          Math.max(0, bbox.left + bbox.width - x(part.until_s)),
          bbox.height,
        );
      ctx.globalAlpha = 1;
    }
    const mean = this.meanInView();
    if (mean !== null) {
      const y = Math.round(u.valToPos(mean / this.unit.size, "y", true)) + 0.5;
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
      ctx.beginPath();
      const { steps } = this.row.layers[0]!;
      ctx.moveTo(x(Math.max(this.view.from, steps.times[0]!)), y);
      ctx.lineTo(x(Math.min(this.view.until, steps.end)), y);
      ctx.stroke();
    }
    ctx.restore();
  }

  private meanInView(): number | null {
    const { steps } = this.row.layers[0]!;
    const from = Math.max(this.view.from, steps.times[0]!);
    const until = Math.min(this.view.until, steps.end);
    return until > from ? steps.mean(from, until) : null;
  }

  private caption(): void {
    const mean = this.meanInView();
    this.mean.textContent = mean === null ? "" : `mean ${this.text(mean)} in view`;
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

  /** Anew: its size, colours or axis have changed. */
  make(): void {
    this.plot?.destroy();
    if (this.holder.clientWidth === 0) return;
    const ink = colour("soft");
    const grid = { stroke: colour("grid"), width: 1 };
    const highest = this.top() / this.unit.size;
    const stepY = niceStep(highest / 3);
    // Up to a tick where it is not far: whole numbers are read more easily.
    const ticked = Math.ceil(highest / stepY - 1e-6) * stepY;
    const top = ticked <= highest * 1.12 ? ticked : highest;
    const { view } = this;
    const bands = this.row.layers.flatMap((layer, k) =>
      layer.isBand ? [{ series: [k + 1, k + 2] as [number, number], fill: colour("band") }] : [],
    );
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
          y: { range: [0, top] },
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
              for (let i = 0; i * stepY <= top * 1.0001; i++) list.push(i * stepY);
              return list;
            },
            values: (_, ticks) => ticks.map((v) => tick(v)),
          },
        ],
        bands,
        series: [
          {},
          ...this.row.layers.map((layer): uPlot.Series => ({
            paths: uPlot.paths.stepped!({ align: 1 }),
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
          draw: [(u) => this.mark(u)],
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

/** Rows that are so much lower than the highest cannot be read on its axis. */
const UNEVEN = 4;

function block(
  title: string,
  unitName: string,
  rows: Row[],
  view: TimeView,
  most?: number,
): HTMLElement {
  const tops = rows.map(
    (row) => most ?? 1.03 * Math.max(1e-9, ...row.layers.map((layer) => layer.steps.most())),
  );
  const highest = Math.max(...tops);
  const unit = unitFor(unitName, [highest]);
  let isShared = true;
  const charts: Chart[] = [];
  const keys = new Map<string, Layer>();
  for (const row of rows) for (const layer of row.layers) keys.set(layer.name, layer);
  let last = (rows.length <= MANY + 1 ? rows.length : MANY) - 1;
  const box = folded(
    rows,
    MANY,
    (row) => {
      const i = rows.indexOf(row);
      const chart = new Chart(
        row,
        view,
        () => (isShared ? highest : tops[i]!),
        unit,
        title,
        () => i === last || i === rows.length - 1,
      );
      charts.push(chart);
      return chart.element;
    },
    "policies",
  );
  last = rows.length - 1;
  const hasBand = [...keys.values()].some((layer) => layer.isBand);
  const shown = [...keys.values()].filter((layer) => !hasBand || layer.name !== "corridor, from");
  return el(
    "div",
    { class: "strips" },
    el("h3", {}, title, " ", el("span", { class: "soft" }, unit.name)),
    el(
      "div",
      { class: "legend" },
      shown.map((layer) =>
        el(
          "span",
          { class: "key" },
          el("i", {
            class: layer.isBand ? "band" : layer.kind,
            style: `--paint: var(--${layer.paint})`,
          }),
          layer.isBand ? "corridor" : layer.name,
        ),
      ),
      el("span", { class: "key" }, el("i", { class: "dotted" }), "mean of what is in view"),
      rows.some((row) => row.run.drawn.measured) &&
        el("span", { class: "key" }, el("i", { class: "veil" }), "not measured"),
      highest > UNEVEN * Math.min(...tops) &&
        select(
          "Axes",
          [
            ["shared", "the same for all"],
            ["own", "each its own"],
          ],
          "shared",
          (value) => {
            isShared = value === "shared";
            charts.forEach((chart) => chart.make());
          },
        ),
    ),
    box,
  );
}

/** One of several blocks, at choice. */
function either(label: string, blocks: [string, () => HTMLElement][]): HTMLElement {
  const made = new Map<string, HTMLElement>();
  const place = el("div", {});
  const show = (name: string) => {
    const its = made.get(name) ?? blocks.find(([text]) => text === name)![1]();
    made.set(name, its);
    place.replaceChildren(its);
    its.querySelector("h3")!.after(choice);
  };
  const names = blocks.map(([name]): [string, string] => [name, name]);
  const choice = el("div", { class: "toolbar" }, select(label, names, names[0]![0], show));
  show(names[0]![0]);
  return place;
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
  const asked = rows((run, series) => [
    { name: "nodes", paint: "waiting", kind: "area", steps: askedFor(run, series.held.end) },
  ]);
  parts.push(
    either("What waits", [
      ["jobs", () => block("Jobs that wait", "jobs", waiting, view)],
      [
        "nodes they ask for",
        () => block("What waiting jobs ask for", "times the machine", asked, view),
      ],
    ]),
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
    parts.push(block("Power", "W", power, view));
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
