// Which job had which nodes when: the whole run of each policy, one below the other on one time
// axis, down to a single resize.
import { barAt, countIn, eachIn, previous, type Bars } from "./bars";
import {
  append,
  details,
  el,
  folded,
  onWidth,
  scroller,
  select,
  valueTable,
  type Child,
} from "./dom";
import type { RunModel } from "./model";
import { Raster } from "./raster";
import { whenSeen } from "./seen";
import {
  colour,
  hue,
  HUES,
  inkOn,
  onTheme,
  reasonColour,
  rgb,
  typeColour,
  type Rgb,
} from "./theme";
import { duration, exact, fixed, moment, momentTicks } from "./units";
import { GUTTER, MARGIN, type TimeView } from "./view";

const MANY = 6;
const DRAWN_ONE_BY_ONE = 1500; // bars of a strip; of more there is a raster, and on it those
const WIDE = 12; // that are as wide as this
const RASTERED_ANEW = 60000; // more bars come from the raster of the whole run
const WHOLE_COLUMNS = 8192;
const WHOLE_ROWS = 256;
const STRIPE = 5;
/** So long strips are drawn in one step; what is left then is stretched, and drawn after it. */
const STEP_MS = 20;

/** Reasons of starts alone. */
const STARTS = new Set(["in-order", "backfilled", "guest", "ordered"]);
const LISTED = 200; // bars of each policy in the table

export type Colouring = "job" | "user" | "type" | "reason";

/** What the strips have in common besides the time. */
interface Shared {
  view: TimeView;
  colouring: Colouring;
  /** Which nodes are seen, as shares of all. */
  low: number;
  high: number;
  height: number;
  hovered: number; // number of a job
  selected: number;
  open(job: number): void;
  hover(job: number): void;
  refresh(): void;
  /** When drawing of this step began, and who could not be drawn in it. */
  stepBegan: number;
  later(strip: Strip): void;
}

interface Paint {
  key: ArrayLike<number>;
  colours: Rgb[];
  names: string[];
}

function paintOf(run: RunModel, bars: Bars, colouring: Colouring): Paint {
  const hues = Array.from({ length: HUES }, (_, i) => rgb(colour(`hue${i}`)));
  const none: string[] = [];
  switch (colouring) {
    case "job":
      return {
        key: Uint8Array.from(bars.job, (row) => hue(run.workload.job[row]!)),
        colours: hues,
        names: none,
      };
    case "user":
      return {
        key: Uint8Array.from(bars.job, (row) => hue(run.workload.user[row]! + 7)),
        colours: hues,
        names: none,
      };
    case "type":
      return {
        key: Uint8Array.from(bars.job, (row) => run.workload.type[row]!),
        colours: run.workload.types.map((type) => rgb(colour(typeColour(type)))),
        names: run.workload.types,
      };
    case "reason":
      return {
        key: bars.reason,
        names: bars.reasons,
        colours: bars.reasons.map((reason) => rgb(colour(reasonColour(reason)))),
      };
  }
}

class Strip {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas", { tabindex: 0, role: "application" });
  private readonly holder: HTMLElement;
  private readonly marks = el("canvas", { class: "marks", "aria-hidden": "true" });
  private readonly tip = el("div", { class: "tip", hidden: true });
  private readonly about: HTMLElement;
  private readonly lastEnd: number;
  private lastResize = NaN;
  private timer = 0;
  private gifts: { row: number; list: [from: number, to: number][] } | null = null;
  /** Corners on the canvas. */
  private chosen: [x0: number, y0: number, x1: number, y1: number] | null = null;
  private paint: Paint | null = null;
  private whole: Raster | null = null;
  private width = 0;
  /** What was drawn last, and of which span of time and nodes it was. */
  private readonly drawn = document.createElement("canvas");
  private drawnSpan: [from: number, until: number, low: number, high: number] = [0, 0, 0, 0];
  /** Draws it, where it is in sight. */
  readonly refresh: () => void;

  constructor(
    readonly run: RunModel,
    readonly bars: Bars,
    private readonly shared: Shared,
  ) {
    this.canvas.setAttribute(
      "aria-label",
      `Nodes under ${run.name}: ${run.drawn.nodes} nodes, ${bars.rows} bars. Arrow keys move, plus and minus zoom, 0 shows all. Jobs are found by their number in the search above.`,
    );
    this.canvas.setAttribute("data-policy", run.name);
    this.about = el("span", { class: "soft" });
    this.lastEnd = bars.blockUntil.reduce((a, b) => Math.max(a, b), 0);
    this.holder = el("div", { class: "gantt-box" }, this.canvas, this.marks, this.tip);
    this.element = el(
      "figure",
      { class: "strip" },
      el("figcaption", {}, el("strong", {}, run.name), " ", this.about),
      this.holder,
    );
    onWidth(this.holder, (width) => {
      this.width = width;
      this.draw();
    });
    this.refresh = whenSeen(this.element, () => this.step());
    this.listen();
  }

  /** Colours have changed. */
  repaint(): void {
    this.paint = null;
    this.whole = null;
    this.draw();
  }

  get height(): number {
    return this.shared.height;
  }

  private get plotWidth(): number {
    return this.width - GUTTER - MARGIN;
  }

  private x(t: number): number {
    return GUTTER + ((t - this.shared.view.from) / this.shared.view.span) * this.plotWidth;
  }

  private get begin(): number {
    return this.shared.low * this.run.drawn.nodes;
  }

  private get end(): number {
    return this.shared.high * this.run.drawn.nodes;
  }

  private y(node: number): number {
    return ((node - this.begin) / (this.end - this.begin)) * this.height;
  }

  timeAt(x: number): number {
    return this.shared.view.from + ((x - GUTTER) / this.plotWidth) * this.shared.view.span;
  }

  /** Draws it, or where this step has taken long already stretches what there is until later. */
  private step(): void {
    const isLate = performance.now() - this.shared.stepBegan > STEP_MS;
    if (
      !isLate ||
      this.drawn.width !== this.canvas.width ||
      this.drawn.height !== this.canvas.height
    ) {
      this.draw();
      return;
    }
    this.stretch();
    this.shared.later(this);
  }

  private stretch(): void {
    const { low, high } = this.shared;
    const [from, until, lowest, highest] = this.drawnSpan;
    const scale = this.canvas.width / this.width;
    const context = this.canvas.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.fillStyle = colour("plot");
    context.fillRect(GUTTER, 0, this.plotWidth, this.height);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, this.plotWidth, this.height);
    context.clip();
    const x = this.x(from);
    const wide = this.x(until) - x;
    const y = ((lowest - low) / (high - low)) * this.height;
    const tall = ((highest - lowest) / (high - low)) * this.height;
    context.drawImage(
      this.drawn,
      GUTTER * scale,
      0,
      this.plotWidth * scale,
      this.canvas.height,
      x,
      y,
      wide,
      tall,
    );
    context.restore();
    this.drawAxes(context);
    this.drawMarks();
  }

  draw(): void {
    if (this.width === 0) return;
    const { view } = this.shared;
    const scale = devicePixelRatio || 1;
    const { canvas, bars } = this;
    const [w, h] = [Math.round(this.width * scale), Math.round(this.height * scale)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
    }
    const context = canvas.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const ground = colour("plot");
    context.fillStyle = ground;
    context.fillRect(GUTTER, 0, this.plotWidth, this.height);
    this.paint ??= paintOf(this.run, bars, this.shared.colouring);
    const count = countIn(bars, view.from, view.until);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, this.plotWidth, this.height);
    context.clip();
    context.fillStyle = colour("grid");
    for (const t of momentTicks(view.from, view.until, this.plotWidth / 110).at) {
      context.fillRect(Math.round(this.x(t)), 0, 1, this.height);
    }
    if (count > DRAWN_ONE_BY_ONE) this.drawRaster(context, count, scale);
    if (count <= RASTERED_ANEW) this.drawBars(context, count > DRAWN_ONE_BY_ONE ? WIDE : 0);
    this.drawCircumstances(context);
    context.restore();
    this.drawAxes(context);
    canvas.dataset.bars = String(count);
    this.drawn.width = w;
    this.drawn.height = h;
    this.drawn.getContext("2d")!.drawImage(canvas, 0, 0);
    this.drawnSpan = [view.from, view.until, this.shared.low, this.shared.high];
    this.drawMarks();
    this.saySoon();
  }

  private drawRaster(context: CanvasRenderingContext2D, count: number, scale: number): void {
    const { view } = this.shared;
    const columns = Math.max(1, Math.round(this.plotWidth * scale));
    let raster: Raster;
    const all = view.end - view.begin;
    const isAllNodes = this.shared.low === 0 && this.shared.high === 1;
    if (count > RASTERED_ANEW && isAllNodes && (view.span / all) * WHOLE_COLUMNS > columns / 2) {
      if (!this.whole) {
        this.whole = new Raster(WHOLE_COLUMNS, Math.min(this.run.drawn.nodes, WHOLE_ROWS));
        this.whole.add(
          this.bars,
          view.begin,
          view.end,
          0,
          this.run.drawn.nodes,
          this.paint!.key,
          this.paint!.colours,
        );
      }
      raster = this.whole.narrowed(
        (view.from - view.begin) / all,
        (view.until - view.begin) / all,
        columns,
      );
    } else {
      // No more rows than there are nodes: a row of several pixels is made by the browser.
      const rows = Math.max(
        1,
        Math.min(Math.round(this.height * scale), Math.ceil(this.end - this.begin)),
      );
      raster = new Raster(columns, rows);
      raster.add(
        this.bars,
        view.from,
        view.until,
        this.begin,
        this.end,
        this.paint!.key,
        this.paint!.colours,
      );
    }
    const image = document.createElement("canvas");
    image.width = raster.columns;
    image.height = raster.rows;
    image.getContext("2d")!.putImageData(raster.pixels(), 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(image, GUTTER, 0, this.plotWidth, this.height);
  }

  /** Where a bar is on the canvas. */
  private box(i: number): [x: number, y: number, w: number, h: number] {
    const { bars } = this;
    const x0 = Math.max(this.x(bars.from[i]!), GUTTER - 2);
    const x1 = Math.min(this.x(bars.until[i]!), this.width - MARGIN + 2);
    let y0 = this.y(bars.first[i]!);
    let y1 = this.y(bars.last[i]! + 1);
    if (bars.offset && bars.cores[i]! > 0 && bars.first[i] === bars.last[i]) {
      const node = y1 - y0;
      y1 = y0 + (node * (bars.offset[i]! + bars.cores[i]!)) / bars.coresPerNode;
      y0 += (node * bars.offset[i]!) / bars.coresPerNode;
    }
    return [x0, y0, Math.max(x1 - x0, 0.6), y1 - y0];
  }

  /** Its parts on the canvas: of shared nodes one for each node. */
  private boxes(i: number): [number, number, number, number][] {
    const { bars } = this;
    const [x, y, w, h] = this.box(i);
    if (!(bars.offset && bars.cores[i]! > 0) || bars.first[i] === bars.last[i])
      return [[x, y, w, h]];
    const count = bars.last[i]! - bars.first[i]! + 1;
    const node = h / count;
    const top = (node * bars.offset[i]!) / bars.coresPerNode;
    const high = node * bars.part(i);
    return Array.from({ length: count }, (_, k) => [x, y + k * node + top, w, high]);
  }

  /** Those that are at least so wide. */
  private drawBars(context: CanvasRenderingContext2D, least: number): void {
    const { bars, run } = this;
    const { key, colours } = this.paint!;
    const fills = colours.map(([r, g, b]) => `rgb(${r},${g},${b})`);
    const inks = colours.map(inkOn);
    const edge = colour("plot");
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "left";
    const labels: [string, number, number, string][] = [];
    const tags: [string, number, number, number][] = [];
    const leastTime = (least / this.plotWidth) * this.shared.view.span;
    const marks: [number, number, number, number, boolean, boolean][] = [];
    eachIn(bars, this.shared.view.from, this.shared.view.until, (i) => {
      if (bars.last[i]! + 1 <= this.begin || bars.first[i]! >= this.end) return;
      if (bars.until[i]! - bars.from[i]! < leastTime) return;
      const k = key[i]!;
      const parts = this.boxes(i);
      context.fillStyle = fills[k]!;
      for (const [x, y, w, h] of parts) {
        // A gap between neighbours where there is room for one.
        const gapX = w > 3 ? 0.5 : 0;
        const gapY = h > 4 ? 0.5 : 0;
        context.fillRect(x, y + gapY, w - gapX, h - 2 * gapY);
        if (bars.guest[i] && w > 2 && h > 6)
          this.hatch(context, x, y + gapY, w - gapX, h - 2 * gapY, edge);
      }
      // Where parts are too low for numbers each job has its own lane for one across its nodes.
      if (parts.length > 1 && parts[0]![3] <= 9) {
        const [x, y, w, h] = this.box(i);
        const high = bars.part(i) * h;
        const top = y + (bars.offset![i]! / bars.coresPerNode) * h;
        const text = String(run.workload.job[bars.job[i]!]!);
        const left = Math.max(x, GUTTER);
        if (high > 13 && text.length * 6.4 + 10 < Math.min(x + w, this.width - MARGIN) - left)
          tags.push([text, left + 4, top + high / 2, k]);
        return;
      }
      // Of shared nodes the first part that is in sight has the number.
      const seen = parts.find((part) => part[1] + part[3] > 6 && part[1] < this.height - 6);
      if (!seen) return;
      const [x, y, w, h] = seen;
      if (w > 16 && h > 9) {
        const text = String(run.workload.job[bars.job[i]!]!);
        const left = Math.max(x, GUTTER);
        const room = Math.min(x + w, this.width - MARGIN) - left;
        // Beside the sign of a resize, which is at the beginning.
        const last = h >= 8 && x >= GUTTER ? previous(bars, i) : -1;
        const sign = last >= 0 && bars.size[last] !== bars.size[i] ? 8 : 0;
        if (text.length * 6.4 + 6 + sign < room) {
          const all = this.box(i);
          const middle = parts.length > 1 ? y + h / 2 : all[1] + all[3] / 2;
          labels.push([
            text,
            left + 3 + sign,
            Math.min(Math.max(middle, 6), this.height - 6),
            inks[k]!,
          ]);
        }
      }
      if (w > 2) {
        const last = previous(bars, i);
        if (last >= 0 && bars.size[last] !== bars.size[i]) {
          const all = this.box(i);
          marks.push([
            x,
            all[1],
            all[3],
            k,
            bars.size[i]! > bars.size[last]!,
            bars.reasons[bars.reason[i]!] === "evolving",
          ]);
        }
      }
    });
    // Resizes: a line, and where it fits a triangle that says which way.
    for (const [x, y, h, k, grown, evolving] of marks) {
      context.fillStyle = inks[k]!;
      context.fillRect(x, y + 0.5, 1, Math.max(1, h - 1));
      if (h < 8) continue;
      const middle = y + h / 2;
      context.beginPath();
      if (evolving) {
        context.moveTo(x + 1, middle);
        context.lineTo(x + 4.5, middle - 4);
        context.lineTo(x + 8, middle);
        context.lineTo(x + 4.5, middle + 4);
      } else {
        const to = grown ? 1 : -1;
        context.moveTo(x + 2, y + (grown ? 8 : 2));
        context.lineTo(x + 5, y + (grown ? 8 : 2) - 5 * to);
        context.lineTo(x + 8, y + (grown ? 8 : 2));
      }
      context.closePath();
      context.fill();
    }
    for (const [text, x, y, k] of tags) {
      context.fillStyle = fills[k]!;
      context.fillRect(x - 3, y - 7, context.measureText(text).width + 6, 14);
      context.fillStyle = inks[k]!;
      context.fillText(text, x, y);
    }
    for (const [text, x, y, ink] of labels) {
      context.fillStyle = ink;
      context.fillText(text, x, y);
    }
  }

  private hatch(
    context: CanvasRenderingContext2D,
    x: number,
    y: number,
    w: number,
    h: number,
    ink: string,
  ): void {
    context.save();
    context.beginPath();
    context.rect(x, y, w, h);
    context.clip();
    context.strokeStyle = ink;
    context.globalAlpha = 0.55;
    context.lineWidth = 1;
    context.beginPath();
    for (let at = Math.floor((x - h) / STRIPE) * STRIPE; at < x + w; at += STRIPE) {
      context.moveTo(at, y + h);
      context.lineTo(at + h, y);
    }
    context.stroke();
    context.restore();
  }

  /** Reservations and nodes that were out of service. */
  private drawCircumstances(context: CanvasRenderingContext2D): void {
    const mark = (
      from: number,
      until: number,
      first: number,
      last: number,
      text: string,
      ink: string,
      dashed: boolean,
    ) => {
      const x0 = Math.max(GUTTER, this.x(from));
      const x1 = Math.min(this.width - MARGIN, this.x(until));
      if (x1 < GUTTER || x0 > this.width - MARGIN) return;
      const [y0, y1] = [this.y(first), this.y(last + 1)];
      const w = Math.max(1, x1 - x0);
      const h = Math.max(1, y1 - y0);
      if (!dashed) {
        context.globalAlpha = 0.25;
        context.fillStyle = ink;
        context.fillRect(x0, y0, w, h);
        context.globalAlpha = 1;
        this.hatch(context, x0, y0, w, h, ink);
      }
      context.strokeStyle = ink;
      context.lineWidth = 1.5;
      context.setLineDash(dashed ? [5, 3] : []);
      context.strokeRect(x0 + 0.75, y0 + 0.75, Math.max(0.5, w - 1.5), Math.max(0.5, h - 1.5));
      context.setLineDash([]);
      if (w > text.length * 6 + 8 && h > 12) {
        context.font = "600 11px system-ui, sans-serif";
        context.textBaseline = "top";
        const width = context.measureText(text).width;
        context.fillStyle = colour("plot");
        context.fillRect(x0 + 3, y0 + 2, width + 4, 13);
        context.fillStyle = ink;
        context.fillText(text, x0 + 5, y0 + 3);
      }
    };
    const part = this.run.drawn.measured;
    if (part) {
      const right = this.width - MARGIN;
      const edges: [number | null, boolean][] = [
        [part.from_s, true],
        [part.until_s, false],
      ];
      for (const [at, isBegin] of edges) {
        if (at === null) continue;
        const x = Math.max(GUTTER, Math.min(right, this.x(at)));
        context.globalAlpha = 0.6;
        context.fillStyle = colour("veil");
        if (isBegin) context.fillRect(GUTTER, 0, x - GUTTER, this.height);
        else context.fillRect(x, 0, right - x, this.height);
        context.globalAlpha = 1;
        context.fillStyle = colour("ink");
        context.fillRect(Math.round(x), 0, 1, this.height);
      }
    }
    for (const r of this.run.drawn.outages ?? []) {
      mark(r.from_s, r.until_s, r.first, r.last, r.state, colour("outage"), false);
    }
    for (const r of this.run.drawn.reservations ?? []) {
      mark(r.from_s, r.until_s, r.first, r.last, r.name, colour("reservation"), true);
    }
  }

  /** Around jobs that are pointed at or chosen; on a canvas of its own, as that changes often. */
  drawMarks(): void {
    if (this.width === 0) return;
    const { canvas, marks } = this;
    const scale = devicePixelRatio || 1;
    if (marks.width !== canvas.width || marks.height !== canvas.height) {
      marks.width = canvas.width;
      marks.height = canvas.height;
      marks.style.width = canvas.style.width;
      marks.style.height = canvas.style.height;
    }
    const context = marks.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, this.plotWidth, this.height);
    context.clip();
    for (const job of new Set([this.shared.hovered, this.shared.selected]))
      this.outline(context, job);
    this.drawGifts(context);
    this.drawChosen(context);
    context.restore();
  }

  private outline(context: CanvasRenderingContext2D, job: number): void {
    if (job < 0) return;
    const row = this.run.workload.row(job);
    if (row === undefined) return;
    const { bars } = this;
    context.lineWidth = job === this.shared.selected ? 2.5 : 1.5;
    for (let k = bars.jobStart[row]!; k < bars.jobStart[row + 1]!; k++) {
      const i = bars.ofJob[k]!;
      const [x, y, w, h] = this.box(i);
      context.strokeStyle = colour("plot");
      context.strokeRect(x - 1.5, y - 1.5, w + 3, h + 3);
      context.strokeStyle = colour("ink");
      context.strokeRect(x, y, w, h);
    }
  }

  /** Of the chosen job: arrows from jobs that were shrunk for it, and to those it was shrunk for. */
  private drawGifts(context: CanvasRenderingContext2D): void {
    const row = this.shared.selected < 0 ? undefined : this.run.workload.row(this.shared.selected);
    if (row === undefined) return;
    const { bars, run } = this;
    if (this.gifts?.row !== row) {
      const list: [from: number, to: number][] = [];
      for (let i = 0; i < bars.rows; i++) {
        const other = bars.forJob[i]!;
        if (other < 0 || (other !== row && bars.job[i] !== row)) continue;
        const start = run.start[other]!;
        const last = previous(bars, i);
        if (last < 0 || bars.size[last]! <= bars.size[i]! || start < bars.from[i]!) continue;
        // One arrow for a resize: from its last part to the first one of who profits.
        const end = list[list.length - 1];
        if (end && bars.job[end[0]] === bars.job[i] && bars.from[end[0]] === bars.from[i]) continue;
        for (let k = bars.jobStart[other]!; k < bars.jobStart[other + 1]!; k++) {
          if (bars.from[bars.ofJob[k]!] !== start) continue;
          list.push([i, bars.ofJob[k]!]);
          break;
        }
      }
      this.gifts = { row, list };
    }
    for (const [from, to] of this.gifts.list) {
      const middle = (i: number) => {
        const [, y, , h] = this.box(i);
        return Math.max(4, Math.min(this.height - 4, y + h / 2));
      };
      const [x0, x1] = [this.x(bars.from[from]!), this.x(bars.from[to]!)];
      const [y0, y1] = [middle(from), middle(to)];
      const bend = Math.max(18, (x1 - x0) / 3);
      const left = x1 - 7;
      for (const [ink, width] of [
        [colour("plot"), 5],
        [colour("accent"), 2],
      ] as const) {
        context.strokeStyle = ink;
        context.fillStyle = ink;
        context.lineWidth = width;
        context.beginPath();
        context.moveTo(x0, y0);
        context.bezierCurveTo(x0 + bend, y0, left - bend, y1, left, y1);
        context.stroke();
        context.beginPath();
        context.moveTo(x1 + width / 4, y1);
        context.lineTo(left - 1, y1 - 3 - width / 2);
        context.lineTo(left - 1, y1 + 3 + width / 2);
        context.closePath();
        context.fill();
      }
    }
  }

  /** What is being chosen with the mouse. */
  private drawChosen(context: CanvasRenderingContext2D): void {
    if (!this.chosen) return;
    const [x0, y0, x1, y1] = this.chosen;
    context.fillStyle = colour("accent");
    context.strokeStyle = colour("accent");
    context.lineWidth = 1.5;
    context.globalAlpha = 0.18;
    context.fillRect(x0, y0, x1 - x0, y1 - y0);
    context.globalAlpha = 1;
    context.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }

  /** What is in view, in figures: how much of the nodes was held, by how many jobs. */
  private say(): void {
    const { bars } = this;
    const { view } = this.shared;
    const run = this.run.drawn;
    const begin = Math.max(view.from, bars.from[0] ?? 0);
    const end = Math.min(view.until, Math.max(begin + 1e-9, this.lastEnd));
    let held = 0;
    let resizes = 0;
    const jobs = new Set<number>();
    eachIn(bars, begin, end, (i) => {
      const nodes = Math.min(bars.last[i]! + 1, this.end) - Math.max(bars.first[i]!, this.begin);
      if (nodes <= 0) return;
      const time = Math.min(bars.until[i]!, end) - Math.max(bars.from[i]!, begin);
      held += nodes * time * bars.part(i);
      jobs.add(bars.job[i]!);
      if (bars.from[i]! < begin || bars.from[i] === this.run.start[bars.job[i]!]) return;
      const last = previous(bars, i);
      // Of a resize one row counts, the first one of its job at that time.
      if (last < 0 || bars.size[last] === bars.size[i]) return;
      const key = bars.job[i]! + bars.from[i]! * 1e-3;
      if (key !== this.lastResize) resizes++;
      this.lastResize = key;
    });
    this.lastResize = NaN;
    const share = (100 * held) / ((this.end - this.begin) * Math.max(1e-9, end - begin));
    const parts = [
      `${run.nodes} nodes, makespan ${duration(run.makespan_s)}; in view: ${fixed(jobs.size, 0)} jobs`,
      `${fixed(Math.min(100, share), 1)}\u00a0% held`,
    ];
    if (resizes > 0) parts.push(`${fixed(resizes, 0)} resize${resizes === 1 ? "" : "s"}`);
    this.about.textContent = parts.join(", ");
  }

  /** When nothing has moved for a while. */
  private saySoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.say(), 180);
  }

  private drawAxes(context: CanvasRenderingContext2D): void {
    const ink = colour("soft");
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = ink;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const count = this.end - this.begin;
    const step = Math.max(1, Math.pow(2, Math.ceil(Math.log2((count * 18) / this.height))));
    for (let node = Math.ceil(this.begin / step) * step; node < this.end; node += step) {
      const y = Math.max(6, this.y(node + Math.min(0.5, step / 2)));
      if (y < this.height - 4) context.fillText(String(node), GUTTER - 6, y);
    }
    context.save();
    context.translate(9, this.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText("node", 0, 0);
    context.restore();
  }

  // ---- What people do with it -------------------------------------------------------------------

  private barUnder(event: MouseEvent): number {
    const place = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - place.left, event.clientY - place.top];
    if (x < GUTTER || x > this.width - MARGIN) return -1;
    const at = this.begin + (y / this.height) * (this.end - this.begin);
    const slack = (1.5 / this.plotWidth) * this.shared.view.span;
    return barAt(this.bars, this.timeAt(x), Math.floor(at), at - Math.floor(at), slack);
  }

  private showTip(event: MouseEvent, i: number): void {
    if (i < 0) {
      this.tip.hidden = true;
      return;
    }
    const { bars, run } = this;
    const row = bars.job[i]!;
    const { workload } = run;
    const other = bars.forJob[i]!;
    const wait = run.start[row]! >= 0 ? run.start[row]! - workload.submit[row]! : NaN;
    this.tip.replaceChildren(
      el("strong", {}, `Job ${workload.job[row]}`),
      ` ${workload.types[workload.type[row]!]}, user ${workload.user[row]}`,
      el("br"),
      `${bars.size[i]} of ${workload.size[row]} nodes asked for`,
      bars.cores[i]! > 0
        ? `, ${bars.cores[i]} cores of each${bars.guest[i] ? " (guest)" : ""}`
        : "",
      el("br"),
      `${exact(bars.from[i]!)} s to ${exact(bars.until[i]!)} s (${duration(bars.until[i]! - bars.from[i]!)})`,
      el("br"),
      bars.reasons[bars.reason[i]!] ?? "",
      other >= 0 ? ` job ${workload.job[other]}` : "",
      Number.isNaN(wait) ? "" : `; waited ${duration(wait)}`,
    );
    this.tip.hidden = false;
    const place = this.holder.getBoundingClientRect();
    const x = event.clientX - place.left;
    const isRight = x > this.width / 2;
    this.tip.style.left = isRight ? "" : `${x + 14}px`;
    this.tip.style.right = isRight ? `${this.width - x + 14}px` : "";
    this.tip.style.top = `${Math.min(event.clientY - place.top + 10, this.height - 20)}px`;
  }

  private listen(): void {
    const { canvas, shared } = this;
    const pointers = new Map<number, PointerEvent>();
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
      moved = 0;
      if (event.shiftKey) {
        const place = canvas.getBoundingClientRect();
        const [x, y] = [event.clientX - place.left, event.clientY - place.top];
        this.chosen = [x, y, x, y];
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      const last = pointers.get(event.pointerId);
      if (!last) {
        const i = this.barUnder(event);
        shared.hover(i < 0 ? -1 : this.run.workload.job[this.bars.job[i]!]!);
        this.showTip(event, i);
        canvas.style.cursor = i < 0 ? "grab" : "pointer";
        return;
      }
      const { view } = shared;
      if (this.chosen) {
        const place = canvas.getBoundingClientRect();
        this.chosen[2] = event.clientX - place.left;
        this.chosen[3] = event.clientY - place.top;
        this.tip.hidden = true;
        this.drawMarks();
      } else if (pointers.size === 1) {
        const [dx, dy] = [event.clientX - last.clientX, event.clientY - last.clientY];
        moved += Math.abs(dx) + Math.abs(dy);
        if (moved > 3) {
          this.tip.hidden = true;
          canvas.style.cursor = "grabbing";
          view.pan(-dx / this.plotWidth);
          panNodes(shared, (-dy / this.height) * (shared.high - shared.low));
        }
      } else {
        // Two fingers: what is under them stays under them.
        const others = [...pointers.values()].filter((p) => p.pointerId !== event.pointerId);
        const other = others[0]!;
        const place = canvas.getBoundingClientRect();
        const before = Math.abs(last.clientX - other.clientX) || 1;
        const now = Math.abs(event.clientX - other.clientX) || 1;
        view.zoom(now / before, this.timeAt((event.clientX + other.clientX) / 2 - place.left));
        moved += 10;
      }
      pointers.set(event.pointerId, event);
    });
    const up = (event: PointerEvent) => {
      if (!pointers.delete(event.pointerId)) return;
      if (this.chosen) {
        const [x0, y0, x1, y1] = this.chosen;
        this.chosen = null;
        this.drawMarks();
        if (event.type === "pointerup" && Math.abs(x1 - x0) > 4) this.zoomTo(x0, y0, x1, y1);
        return;
      }
      if (event.type === "pointerup" && moved <= 3) {
        const i = this.barUnder(event);
        if (i >= 0) shared.open(this.run.workload.job[this.bars.job[i]!]!);
      }
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
      shared.hover(-1);
    });
    canvas.addEventListener("dblclick", (event) => {
      const place = canvas.getBoundingClientRect();
      shared.view.zoom(4, this.timeAt(event.clientX - place.left));
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        // The wheel scrolls the page until somebody has come into the chart.
        const isIn =
          event.ctrlKey || event.metaKey || event.shiftKey || document.activeElement === canvas;
        const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey;
        if (!isIn && !isSideways) return;
        event.preventDefault();
        const place = canvas.getBoundingClientRect();
        if (isSideways) {
          shared.view.pan(event.deltaX / this.plotWidth);
          return;
        }
        const delta = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 20 : 1);
        const factor = Math.exp(-delta * (event.ctrlKey && Math.abs(delta) < 40 ? 0.012 : 0.003));
        if (event.shiftKey) {
          const at =
            shared.low + ((event.clientY - place.top) / this.height) * (shared.high - shared.low);
          zoomNodes(shared, factor, at, this.run.drawn.nodes);
        } else {
          shared.view.zoom(factor, this.timeAt(event.clientX - place.left));
        }
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const { view } = shared;
      const actions: Record<string, () => void> = {
        ArrowLeft: () => view.pan(-0.15),
        ArrowRight: () => view.pan(0.15),
        ArrowUp: () => panNodes(shared, -0.15 * (shared.high - shared.low)),
        ArrowDown: () => panNodes(shared, 0.15 * (shared.high - shared.low)),
        a: () => view.pan(-0.15),
        d: () => view.pan(0.15),
        w: () => view.zoom(1.6),
        s: () => view.zoom(1 / 1.6),
        "+": () => view.zoom(1.6),
        "=": () => view.zoom(1.6),
        "-": () => view.zoom(1 / 1.6),
        "0": () => showAll(shared),
        Home: () => view.set(view.begin, view.begin + view.span),
        End: () => view.set(view.end - view.span, view.end),
        "[": () => zoomNodes(shared, 1 / 1.5, (shared.low + shared.high) / 2, this.run.drawn.nodes),
        "]": () => zoomNodes(shared, 1.5, (shared.low + shared.high) / 2, this.run.drawn.nodes),
        Enter: () => this.openMiddle(),
      };
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  /** To a part of the canvas; of nodes only where it is higher than a slip of the hand. */
  private zoomTo(x0: number, y0: number, x1: number, y1: number): void {
    const { shared } = this;
    const [from, until] = [this.timeAt(Math.min(x0, x1)), this.timeAt(Math.max(x0, x1))];
    if (Math.abs(y1 - y0) > 12) {
      const at = (y: number) =>
        shared.low +
        (Math.max(0, Math.min(this.height, y)) / this.height) * (shared.high - shared.low);
      const [low, high] = [at(Math.min(y0, y1)), at(Math.max(y0, y1))];
      const span = Math.max(high - low, 2 / this.run.drawn.nodes);
      shared.low = Math.max(0, Math.min(low, 1 - span));
      shared.high = Math.min(1, shared.low + span);
    }
    shared.view.set(from, until);
  }

  /** The job nearest to the middle of what is shown: for those without a mouse. */
  private openMiddle(): void {
    const t = (this.shared.view.from + this.shared.view.until) / 2;
    const node = Math.floor((this.begin + this.end) / 2);
    const i = barAt(this.bars, t, node, 0.5, this.shared.view.span / 2);
    if (i >= 0) this.shared.open(this.run.workload.job[this.bars.job[i]!]!);
  }
}

function zoomNodes(shared: Shared, factor: number, around: number, nodes: number): void {
  const span = Math.min(1, Math.max(2 / nodes, (shared.high - shared.low) / factor));
  const share = (around - shared.low) / (shared.high - shared.low);
  shared.low = Math.max(0, Math.min(1 - span, around - share * span));
  shared.high = shared.low + span;
  shared.view.changed();
}

function panNodes(shared: Shared, by: number): void {
  const span = shared.high - shared.low;
  if (span >= 1) return;
  shared.low = Math.max(0, Math.min(1 - span, shared.low + by));
  shared.high = shared.low + span;
  shared.view.changed();
}

function showAll(shared: Shared): void {
  shared.low = 0;
  shared.high = 1;
  shared.view.reset();
}

/** Buttons that move all pictures over time. */
export function timeButtons(view: TimeView, all: () => void): HTMLElement {
  const span = el("output", { class: "soft" });
  const say = () => {
    const step = view.span / 100;
    span.textContent = `${moment(view.from, step, view.end)} to ${moment(view.until, step, view.end)} (${duration(view.span)})`;
  };
  view.onChange(say);
  say();
  const button = (text: string, label: string, act: () => void) =>
    el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  return el(
    "div",
    { class: "buttons", role: "group", "aria-label": "Span of time" },
    button("◀", "Earlier", () => view.pan(-0.4)),
    button("▶", "Later", () => view.pan(0.4)),
    button("+", "Zoom in", () => view.zoom(2)),
    button("−", "Zoom out", () => view.zoom(0.5)),
    button("All", "All: show the whole run", all),
    span,
  );
}

export interface Gantt {
  element: HTMLElement;
  /** Marks the job in all strips, and moves to it if asked to. */
  mark(job: number, move: boolean): void;
}

export function ganttSection(
  runs: RunModel[],
  bars: (Bars | null)[],
  view: TimeView,
  open: (job: number) => void,
  story: HTMLElement,
): Gantt {
  const some = runs.filter((run) => bars[run.index] && bars[run.index]!.rows > 0);
  const without = runs.filter((run) => !some.includes(run));
  if (some.length === 0) {
    return {
      element: el(
        "section",
        { id: "gantt" },
        el("h2", {}, "Jobs on nodes"),
        el(
          "p",
          { class: "soft" },
          "Nodes were not told apart in these runs, so there is no chart of them. Jobs are found by their number all the same.",
        ),
        search(open),
        story,
      ),
      mark: () => undefined,
    };
  }
  const most = Math.max(...some.map((run) => run.drawn.nodes));
  const tallest = some.length === 1 ? 420 : some.length <= 3 ? 260 : 190;
  const strips: Strip[] = [];
  const shared: Shared = {
    view,
    colouring: "job",
    low: 0,
    high: 1,
    height: Math.max(110, Math.min(tallest, most * 6)),
    hovered: -1,
    selected: -1,
    open,
    hover: (job) => {
      if (job === shared.hovered) return;
      shared.hovered = job;
      strips.forEach((strip) => strip.drawMarks());
    },
    refresh: () => {
      shared.stepBegan = performance.now();
      // Those that were left are the first now: while somebody moves on all have their turn.
      const left = waiting.splice(0);
      for (const strip of [...left, ...strips.filter((strip) => !left.includes(strip))])
        strip.refresh();
    },
    stepBegan: 0,
    later: (strip) => {
      waiting.push(strip);
      if (waiting.length === 1) requestAnimationFrame(drawOne);
    },
  };
  // What a step has left: one strip a frame.
  const waiting: Strip[] = [];
  const drawOne = () => {
    waiting.shift()?.draw();
    if (waiting.length > 0) requestAnimationFrame(drawOne);
    else performance.measure("ductile:sharp", { start: shared.stepBegan, end: performance.now() });
  };
  const axis = el("canvas", { class: "time-axis", "aria-hidden": "true" });
  const axisBox = el("div", { class: "axis-box" }, axis);
  const drawAxis = () => {
    const width = axisBox.clientWidth;
    if (width === 0) return;
    const scale = devicePixelRatio || 1;
    axis.width = Math.round(width * scale);
    axis.height = Math.round(22 * scale);
    axis.style.width = `${width}px`;
    const context = axis.getContext("2d")!;
    context.scale(scale, scale);
    context.fillStyle = colour("soft");
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const plot = width - GUTTER - MARGIN;
    const { step, at } = momentTicks(view.from, view.until, plot / 110);
    for (const t of at) {
      const x = GUTTER + ((t - view.from) / view.span) * plot;
      const text = moment(t, step, view.end);
      const wide = context.measureText(text).width;
      context.textAlign = "left";
      context.fillText(text, Math.min(Math.max(x - wide / 2, GUTTER - 20), width - wide - 1), 9);
      context.fillRect(Math.round(x), 17, 1, 5);
    }
  };
  onWidth(axisBox, drawAxis);
  view.onChange(() => {
    const start = performance.now();
    drawAxis();
    shared.refresh();
    performance.measure("ductile:gantt", { start, end: performance.now() });
  });
  onTheme(() => {
    drawAxis();
    strips.forEach((strip) => strip.repaint());
  });

  const legend = el("p", { class: "legend" });
  const drawLegend = () => {
    const names = new Map<string, string>();
    for (const run of some) {
      const its = bars[run.index]!;
      if (shared.colouring === "type")
        run.workload.types.forEach((type) => names.set(type, typeColour(type)));
      if (shared.colouring === "reason")
        its.reasons.forEach((reason) => names.set(reason, reasonColour(reason)));
    }
    const keys: Child[] = [...names].map(([text, name]) =>
      el("span", { class: "key" }, el("i", { style: `background: var(--${name})` }), text),
    );
    if (some.some((run) => bars[run.index]!.offset)) {
      keys.push(
        el("span", { class: "key" }, el("i", { class: "hatched" }), "guest on shared nodes"),
      );
    }
    const reasons = new Set(some.flatMap((run) => bars[run.index]!.reasons));
    if ([...reasons].some((reason) => !STARTS.has(reason))) {
      keys.push(
        el(
          "span",
          { class: "key" },
          `▲ grown ▼ shrunk${reasons.has("evolving") ? " ◆ asked for by the application" : ""}`,
        ),
      );
    }
    if (some.some((run) => run.drawn.outages?.length))
      keys.push(
        el(
          "span",
          { class: "key" },
          el("i", { class: "hatched", style: "background-color: var(--outage)" }),
          "out of service",
        ),
      );
    if (some.some((run) => run.drawn.measured))
      keys.push(
        el(
          "span",
          { class: "key" },
          el("i", { class: "veil" }),
          "not measured: no figures of these",
        ),
      );
    if (some.some((run) => run.drawn.reservations?.length))
      keys.push(el("span", { class: "key" }, el("i", { class: "dashed" }), "reservation"));
    legend.replaceChildren();
    append(legend, keys);
  };
  drawLegend();
  const tall = (factor: number) => {
    shared.height = Math.round(Math.max(60, Math.min(1200, shared.height * factor)));
    shared.refresh();
  };
  const toolbar = el(
    "div",
    { class: "toolbar" },
    search(open),
    select(
      "Colours by",
      [
        ["job", "job"],
        ["user", "user"],
        ["type", "type"],
        ["reason", "reason"],
      ],
      "job",
      (value) => {
        shared.colouring = value as Colouring;
        drawLegend();
        strips.forEach((strip) => strip.repaint());
      },
    ),
    timeButtons(view, () => showAll(shared)),
    el(
      "div",
      { class: "buttons", role: "group", "aria-label": "Height" },
      el("button", { type: "button", onclick: () => tall(1.4) }, "Taller"),
      el("button", { type: "button", onclick: () => tall(1 / 1.4) }, "Lower"),
    ),
  );
  // The axis stays in sight, as the strips of many policies are higher than the window.
  const head = el("div", { class: "sticky" }, toolbar, legend, axisBox);
  const box = folded(
    some,
    MANY,
    (run) => {
      const strip = new Strip(run, bars[run.index]!, shared);
      strips.push(strip);
      return strip.element;
    },
    "policies",
  );
  const element = el(
    "section",
    { id: "gantt" },
    el("h2", {}, "Jobs on nodes"),
    el(
      "p",
      { class: "soft hint" },
      "All policies on one time axis. Drag to move, ",
      el("kbd", {}, "Ctrl"),
      " and the wheel to zoom. A click on a job tells its story.",
    ),
    details(
      "All keys",
      el(
        "dl",
        { class: "keys" },
        (
          [
            [["Ctrl", "wheel"], "zoom; after a click into the chart the wheel alone"],
            [["Shift", "wheel"], "zoom into nodes"],
            [["Shift", "drag"], "zoom to what is chosen"],
            [["A", "D", "←", "→"], "earlier, later"],
            [["W", "S", "+", "−"], "zoom in, out"],
            [["↑", "↓", "[", "]"], "other nodes, more of them, fewer"],
            [["0", "Home", "End"], "all, the beginning, the end"],
            [["Enter"], "the story of the job in the middle"],
          ] as [string[], string][]
        ).map(([keys, what]) => [
          el(
            "dt",
            {},
            keys.map((key) => [el("kbd", {}, key), " "]),
          ),
          el("dd", {}, what),
        ]),
      ),
    ),
    el("div", {}, head, box),
    list(some, bars, view),
    without.length > 0 &&
      el(
        "p",
        { class: "soft" },
        `Not drawn, as their nodes were not told apart: ${without.map((run) => run.name).join(", ")}.`,
      ),
    story,
  );
  return {
    element,
    mark: (job, move) => {
      shared.selected = job;
      if (move && job >= 0) {
        let [from, until] = [Infinity, -Infinity];
        for (const run of some) {
          const row = run.workload.row(job);
          if (row === undefined) continue;
          from = Math.min(from, run.workload.submit[row]!);
          until = Math.max(until, run.end[row]!);
        }
        if (until > from) {
          const pad = (until - from) * 0.15;
          shared.low = 0;
          shared.high = 1;
          view.set(from - pad, until + pad);
        }
      }
      strips.forEach((strip) => strip.drawMarks());
    },
  };
}

/** What the strips show, as a table: made when it is opened, and again when the view has moved. */
function list(runs: RunModel[], all: (Bars | null)[], view: TimeView): HTMLElement {
  const box = el("div", {});
  const fill = () => {
    let left = 0;
    const rows = runs.flatMap((run) => {
      const bars = all[run.index]!;
      const result: Child[][] = [];
      eachIn(bars, view.from, view.until, (i) => {
        if (result.length >= LISTED) {
          left++;
          return;
        }
        const { workload } = run;
        result.push([
          `${run.name}`,
          workload.job[bars.job[i]!],
          exact(bars.from[i]!),
          exact(bars.until[i]!),
          bars.first[i] === bars.last[i] ? `${bars.first[i]}` : `${bars.first[i]}–${bars.last[i]}`,
          bars.size[i],
          bars.reasons[bars.reason[i]!] ?? "",
        ]);
      });
      return result;
    });
    box.replaceChildren(
      scroller(
        "Jobs on nodes",
        valueTable(
          "Jobs on nodes in the span that is shown",
          ["policy", "job", "from (s)", "until (s)", "nodes", "size", "because"],
          rows,
        ),
      ),
    );
    if (left > 0)
      box.append(
        el(
          "p",
          { class: "soft" },
          `${left} more in this span, of each policy those after the first ${LISTED}: look closer to see them.`,
        ),
      );
  };
  const table = details("What is shown, as a table", box);
  table.addEventListener("toggle", () => table.open && fill());
  let timer = 0;
  view.onChange(() => {
    if (!table.open) return;
    clearTimeout(timer);
    timer = setTimeout(fill, 200);
  });
  return table;
}

function search(open: (job: number) => void): HTMLElement {
  const input = el("input", {
    type: "text",
    inputmode: "numeric",
    size: 8,
    placeholder: "number",
    name: "job",
    autocomplete: "off",
  });
  return el(
    "form",
    {
      class: "search",
      role: "search",
      "aria-label": "Find a job",
      onsubmit: (event: Event) => {
        event.preventDefault();
        const number = Number(input.value.trim().replace(/^#/, ""));
        if (input.value.trim() !== "" && Number.isFinite(number)) open(number);
      },
    },
    el("label", { class: "choice" }, el("span", {}, "Find job"), input),
    el("button", { type: "submit" }, "Show"),
  );
}
