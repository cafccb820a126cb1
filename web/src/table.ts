// The main table: a line for each policy. Where it is wider than the page its columns go on below,
// each part with the names of the policies again: nothing is cut off, nothing has to be scrolled.
import type { Column, PageData } from "./data";
import { el, onWidth } from "./dom";
import { decimalsFor, fixed, unitFor, type Unit } from "./units";

interface Figure {
  column: Column;
  place: number; // in the means of a group
  unit: Unit;
  decimals: number;
  best: number | null;
}

const MANY = 15;

function text(value: number | null, figure: Figure): string {
  if (value === null || !Number.isFinite(value)) return "–";
  return fixed(value / figure.unit.size, figure.decimals);
}

function figureOf(data: PageData, place: number): Figure {
  const column = data.columns[place]!;
  const means = data.groups.map((group) => group.means[place]![0]);
  const unit = unitFor(column.unit, means);
  const scaled = means.map((v) => (v === null ? null : v / unit.size));
  const decimals =
    unit.size === 1 && unit.name === column.unit
      ? Math.max(0, Math.min(column.decimals, Math.max(decimalsFor(scaled), 0)))
      : decimalsFor(scaled);
  const known = means.filter((v): v is number => v !== null && Number.isFinite(v));
  let best: number | null = null;
  if (column.better && known.length > 1 && new Set(known).size > 1) {
    best = column.better === "less" ? Math.min(...known) : Math.max(...known);
    // What most of them have is no distinction.
    if (known.filter((v) => v === best).length * 2 > known.length) best = null;
  }
  return { column, place, unit, decimals, best };
}

/** Figures that are the same for all policies say nothing about them: a line above the table. */
function isSame(data: PageData, figure: Figure): boolean {
  if (data.groups.length < 2) return false;
  const first = data.groups[0]!.means[figure.place]!;
  return data.groups.every((group) => {
    const [mean, half] = group.means[figure.place]!;
    return mean === first[0] && half === first[1];
  });
}

export function mainTable(data: PageData): HTMLElement {
  const all = data.columns.map((_, place) => figureOf(data, place));
  const same = all.filter((figure) => isSame(data, figure));
  const figures = all.filter((figure) => !same.includes(figure));
  const box = el("div", { class: "main-table" });
  const baseline = data.comparison?.baseline;

  let order = data.groups.map((_, i) => i);
  let by = -1; // -1: as given; -2: by name
  let rising = true;
  let showAll = data.groups.length <= MANY;

  const cell = (group: number, figure: Figure) => {
    const [mean, half] = data.groups[group]!.means[figure.place]!;
    const isBest = figure.best !== null && mean === figure.best;
    const body = [text(mean, figure)];
    if (half !== null && Number.isFinite(half) && half > 0) {
      // A half width of zero digits would look like certainty.
      const scaled = half / figure.unit.size;
      const least = 10 ** -figure.decimals;
      const size =
        scaled < 0.5 * least
          ? `<\u00a0${fixed(least, figure.decimals)}`
          : fixed(scaled, figure.decimals);
      body.push(` ±\u00a0${size}`);
    }
    return el(
      "td",
      { class: isBest ? "best" : "" },
      body[0],
      body[1] && el("span", { class: "half" }, body[1]),
      isBest && el("span", { class: "unseen" }, " (best)"),
    );
  };

  const sortBy = (key: number) => {
    if (by === key) rising = !rising;
    else {
      by = key;
      const figure = all.find((f) => f.place === key);
      rising = figure?.column.better !== "more";
    }
    order = data.groups.map((_, i) => i);
    if (by === -2) {
      order.sort((a, b) => data.groups[a]!.policy.localeCompare(data.groups[b]!.policy));
    } else {
      const of = (i: number) => data.groups[i]!.means[by]![0];
      order.sort((a, b) => {
        const [x, y] = [of(a), of(b)];
        // Those without a value come last, whichever way it is sorted.
        if (x === null || y === null)
          return x === y ? 0 : x === null ? (rising ? 1 : -1) : rising ? -1 : 1;
        return x - y;
      });
    }
    if (!rising) order.reverse();
  };

  const header = (title: string, unit: string, key: number) =>
    el(
      "th",
      { scope: "col", "aria-sort": by === key ? (rising ? "ascending" : "descending") : undefined },
      el(
        "button",
        {
          type: "button",
          "data-key": key,
          onclick: () => {
            sortBy(key);
            draw();
            box.querySelector<HTMLElement>(`[data-key="${key}"]`)?.focus();
          },
        },
        el("span", { class: "title" }, title),
        el(
          "span",
          { class: "arrow", "aria-hidden": "true" },
          by === key ? (rising ? "▲" : "▼") : "",
        ),
        el("span", { class: "unit" }, unit || "\u00a0"),
      ),
    );

  const part = (shown: Figure[], isFirst: boolean, nameWidth = 0) =>
    el(
      "table",
      {},
      el("colgroup", {}, el("col", { style: nameWidth > 0 ? `width: ${nameWidth}px` : undefined })),
      el(
        "caption",
        { class: "unseen" },
        isFirst ? "Main figures by policy" : "Main figures by policy, continued",
      ),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          header("policy", "", -2),
          shown.map((figure) => header(figure.column.title, figure.unit.name, figure.place)),
        ),
      ),
      el(
        "tbody",
        {},
        order.slice(0, showAll ? order.length : MANY).map((i) =>
          el(
            "tr",
            {},
            el(
              "th",
              { scope: "row" },
              data.groups[i]!.policy,
              i === baseline && el("span", { class: "tag" }, "baseline"),
            ),
            shown.map((figure) => cell(i, figure)),
          ),
        ),
      ),
    );

  let width = 0;
  const draw = () => {
    if (width === 0) return;
    // As wide as each column wants to be.
    const trial = part(figures, true);
    trial.classList.add("trial");
    box.replaceChildren(trial);
    const wanted = [...trial.querySelectorAll("thead th")].map(
      (th) => th.getBoundingClientRect().width,
    );
    const forName = Math.min(wanted[0]!, width * 0.4);
    const parts: Figure[][] = [];
    let left = 0;
    const total = wanted.slice(1).reduce((sum, w) => sum + w, 0);
    const lines = Math.max(1, Math.ceil(total / Math.max(1, width - forName)));
    // Parts of about the same width.
    const most = width - forName;
    const aim = lines > 1 ? Math.min(most, (total / lines) * 1.08) : most;
    figures.forEach((figure, i) => {
      const w = wanted[i + 1]!;
      if (parts.length === 0 || left + w > (parts.length < lines ? aim : most)) {
        parts.push([]);
        left = 0;
      }
      parts[parts.length - 1]!.push(figure);
      left += w;
    });
    box.replaceChildren(...parts.map((shown, i) => part(shown, i === 0, Math.ceil(forName))));
    // On a wide page not so wide that a line is hard to follow.
    const widest = lines > 1 ? width : Math.min(width, (forName + total) * 1.7);
    box
      .querySelectorAll("table")
      .forEach((table) => (table.style.maxWidth = `${Math.ceil(widest)}px`));
    if (same.length > 0) {
      const words = same.map((f) => {
        const value = data.groups[0]!.means[f.place]!;
        const half = value[1] ? ` ± ${fixed(value[1] / f.unit.size, Math.max(1, f.decimals))}` : "";
        return `${f.column.title} ${text(value[0], f)}${half}${f.unit.name && "\u00a0"}${f.unit.name}`;
      });
      box.append(el("p", { class: "soft" }, `The same for all: ${words.join(", ")}.`));
    }
    if (!showAll) {
      box.append(
        el(
          "button",
          {
            type: "button",
            class: "more",
            onclick: () => {
              showAll = true;
              draw();
            },
          },
          `Show ${order.length - MANY} more policies`,
        ),
      );
    }
  };
  onWidth(box, (w) => {
    width = w;
    draw();
  });
  return box;
}
