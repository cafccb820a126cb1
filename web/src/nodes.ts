// Nodes over time: which job had which of them in the last hours.
import { el, onWidth, svg } from "./dom";
import { outages, parts, type Allocations, type Happening, type Node } from "./live";
import { hue } from "./theme";

const LEFT = 46;
const BOTTOM = 22;
const TOP = 4;
const STATE = 7; // width of the strip that tells how nodes are now

export function clock(time_s: number, withSeconds = false): string {
  return new Date(time_s * 1000).toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    ...(withSeconds ? { second: "2-digit" } : {}),
    hour12: false,
  });
}

/** How far apart, in seconds, so that so many fit. */
export function tickStep(span_s: number, most: number): number {
  const steps = [15, 60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  return steps.find((step) => span_s / step <= most) ?? 86400;
}

export class NodesChart {
  readonly element: HTMLElement;
  private readonly box = el("div", { class: "svg-box nodes-chart" });
  private readonly caption = el("figcaption", { class: "soft" });
  private width = 0;
  private allocations: Allocations | null = null;
  private nodes: Node[] = [];
  private outages: Happening[] = [];

  constructor(private readonly choose: (job: number) => void) {
    this.element = el("figure", {}, this.caption, this.box);
    onWidth(this.box, (width) => {
      this.width = width;
      this.draw();
    });
  }

  show(allocations: Allocations, nodes: Node[], gone: Happening[]): void {
    this.allocations = allocations;
    this.nodes = nodes;
    this.outages = gone;
    this.draw();
  }

  private draw(): void {
    const data = this.allocations;
    if (!data || this.width < 80 || this.nodes.length === 0) return;
    const count = this.nodes.length;
    const row = Math.min(26, Math.max(1, Math.floor(520 / count)));
    const height = Math.max(60, row * count);
    const each = height / count;
    const t1 = data.now_s;
    // Where nothing was before there is nothing to be seen.
    const first = Math.min(
      t1,
      ...data.allocations.map((held) => held.from_s),
      ...this.outages.map((row) => row.time_s),
    );
    const t0 = Math.max(data.since_s, Math.min(first - 0.02 * (t1 - first), t1 - 60));
    const inner = this.width - LEFT - STATE - 3;
    const x = (time_s: number) => LEFT + ((time_s - t0) / (t1 - t0)) * inner;
    const y = (node: number) => TOP + node * each;
    const picture = svg("svg", {
      width: this.width,
      height: TOP + height + BOTTOM,
      role: "img",
      "aria-label": `Which job had which of ${count} nodes since ${clock(t0)}; the table below has those of now.`,
    });
    const place = (
      from_s: number,
      to_s: number,
      top: number,
      bottom: number,
      colour: string,
      kind: string,
    ) => {
      const [left, right] = [x(Math.max(from_s, t0)), x(Math.min(to_s, t1))];
      const rect = svg("rect", {
        x: left,
        y: y(top) + (each > 4 ? 0.5 : 0),
        width: Math.max(right - left, 1),
        height: (bottom - top + 1) * each - (each > 4 ? 1 : 0),
        class: kind,
      });
      rect.style.fill = `var(--${colour})`;
      picture.append(rect);
      return { rect, left, right };
    };
    picture.append(svg("rect", { x: LEFT, y: TOP, width: inner, height, class: "ground" }));
    const step = tickStep(t1 - t0, Math.max(2, Math.floor(inner / 64)));
    // Whole hours of the clock on the wall here.
    const shift = new Date(t0 * 1000).getTimezoneOffset() * 60;
    for (let t = Math.ceil((t0 - shift) / step) * step + shift; t < t1; t += step) {
      picture.append(svg("line", { x1: x(t), x2: x(t), y1: TOP, y2: TOP + height, class: "grid" }));
      if (x(t) > LEFT + 16 && x(t) < this.width - (step < 60 ? 32 : 18))
        picture.append(
          svg(
            "text",
            { x: x(t), y: TOP + height + 15, "text-anchor": "middle", class: "tick" },
            clock(t, step < 60),
          ),
        );
    }
    for (const held of data.allocations) {
      if ((held.to_s ?? t1) < t0) continue;
      for (const [top, bottom] of parts(held.nodelist)) {
        const { rect, left, right } = place(
          held.from_s,
          held.to_s ?? t1,
          top,
          bottom,
          `hue${hue(held.job)}`,
          held.to_s === null ? "bar now" : "bar",
        );
        rect.append(
          svg(
            "title",
            {},
            `job ${held.job} ${held.name} of ${held.user}, nodes ${held.nodelist}, ${clock(held.from_s, true)} to ${held.to_s === null ? "now" : clock(held.to_s, true)}`,
          ),
        );
        rect.addEventListener("click", () => this.choose(held.job));
        const text = String(held.job);
        if (right - left > 8 * text.length + 8 && (bottom - top + 1) * each > 13)
          picture.append(
            svg(
              "text",
              {
                x: Math.max(left, LEFT) + 4,
                y: y((top + bottom + 1) / 2) + 4,
                class: "in-bar",
              },
              text,
            ),
          );
      }
    }
    for (const out of outages(this.outages, t0, t1))
      place(out.from_s, out.to_s, out.first, out.last, "outage", "out");
    // How they are now.
    for (const node of this.nodes) {
      const colour =
        node.state === "ALLOCATED"
          ? `hue${hue(node.job ?? 0)}`
          : node.state === "IDLE"
            ? "plot"
            : node.state === "RESERVED" || node.state === "MAINT"
              ? "reservation"
              : "outage";
      const strip = svg("rect", {
        x: this.width - STATE,
        y: y(node.node),
        width: STATE,
        height: Math.max(each - (each > 4 ? 1 : 0), 1),
        class: "state",
      });
      strip.style.fill = `var(--${colour})`;
      picture.append(strip);
    }
    const every = Math.max(1, Math.ceil(14 / each));
    for (let node = 0; node < count; node += every)
      picture.append(
        svg(
          "text",
          {
            x: LEFT - 6,
            y: y(node) + Math.max(each, 8) / 2 + 4,
            "text-anchor": "end",
            class: "tick",
          },
          node,
        ),
      );
    this.caption.textContent = `Each bar is a job on its nodes, since ${clock(t0)}. At the right edge: how nodes are now.`;
    this.box.replaceChildren(picture);
  }
}
