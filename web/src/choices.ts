// Who of a portfolio ruled when, and why.
import type { Drawn } from "./data";
import { details, el, onWidth, scroller, svg, valueTable } from "./dom";
import type { RunModel } from "./model";
import { hue } from "./theme";
import { exact, moment, momentTicks, short } from "./units";
import { GUTTER, MARGIN, type TimeView } from "./view";

type Choice = NonNullable<Drawn["choices"]>[number];

interface Reign {
  from: number;
  until: number;
  who: string;
  why: string;
}

function reigns(choices: Choice[], end: number): Reign[] {
  const list: Reign[] = [];
  const first = choices[0]!;
  if (first.at_s > 0)
    list.push({ from: 0, until: first.at_s, who: first.ruled, why: "from the beginning" });
  choices.forEach((choice, i) => {
    const last = list[list.length - 1];
    const until = choices[i + 1]?.at_s ?? end;
    if (last && last.who === choice.rules) last.until = until;
    else list.push({ from: choice.at_s, until, who: choice.rules, why: choice.occasion });
  });
  return list;
}

function strip(run: RunModel, view: TimeView): HTMLElement {
  const choices = run.drawn.choices!;
  const list = reigns(choices, Math.max(run.drawn.makespan_s, choices[choices.length - 1]!.at_s));
  const members = [...new Set(list.map((reign) => reign.who))];
  // Members one below the other: no colour has to be remembered.
  const row = 16;
  const height = members.length * row + 22;
  const holder = el("div", { class: "svg-box" });
  const shares = members.map((who) =>
    list
      .filter((reign) => reign.who === who)
      .reduce((sum, reign) => sum + reign.until - reign.from, 0),
  );
  const all = shares.reduce((sum, v) => sum + v, 0) || 1;
  const draw = () => {
    const width = holder.clientWidth;
    if (width === 0) return;
    const plot = width - GUTTER - MARGIN;
    const x = (t: number) => GUTTER + ((t - view.from) / view.span) * plot;
    const picture = svg("svg", {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `Who ruled under ${run.name}: ${members.map((who, i) => `${who} ${((100 * shares[i]!) / all).toFixed(0)} %`).join(", ")}`,
    });
    const { step, at } = momentTicks(view.from, view.until, plot / 110);
    for (const t of at) {
      picture.append(svg("line", { x1: x(t), x2: x(t), y1: 0, y2: height - 20, class: "grid" }));
      if (x(t) < width - 40)
        picture.append(
          svg(
            "text",
            { x: x(t), y: height - 5, "text-anchor": "middle", class: "tick" },
            moment(t, step, view.end),
          ),
        );
    }
    for (const reign of list) {
      const a = Math.max(GUTTER, x(reign.from));
      const b = Math.min(width - MARGIN, x(reign.until));
      if (b <= a) continue;
      const i = members.indexOf(reign.who);
      picture.append(
        svg(
          "rect",
          {
            x: a,
            y: i * row + 2,
            width: Math.max(0.8, b - a),
            height: row - 4,
            style: `fill: var(--hue${hue(i + 3)})`,
          },
          svg(
            "title",
            {},
            `${reign.who} from ${exact(reign.from)} s to ${exact(reign.until)} s: ${reign.why}`,
          ),
        ),
      );
    }
    holder.replaceChildren(picture);
  };
  onWidth(holder, draw);
  view.onChange(draw);
  const changes = choices.filter((choice) => choice.ruled !== choice.rules);
  return el(
    "figure",
    { class: "strip" },
    el(
      "figcaption",
      {},
      el("strong", {}, run.name),
      " ",
      el("span", { class: "soft" }, `${choices.length} choices, ${changes.length} changes`),
    ),
    el(
      "ol",
      { class: "members" },
      members.map((who, i) =>
        el(
          "li",
          {},
          el("i", { style: `background: var(--hue${hue(i + 3)})` }),
          `${who} `,
          el("span", { class: "soft" }, `${((100 * shares[i]!) / all).toFixed(1)} %`),
        ),
      ),
    ),
    holder,
    changes.length > 0 &&
      details(
        `All ${changes.length} changes`,
        scroller(
          "Changes of who ruled",
          valueTable(
            "Changes of who ruled; of the scores the smallest is the best",
            ["time (s)", "because of", "ruled", "rules", "scores"],
            changes.map((choice) => [
              exact(choice.at_s),
              choice.occasion,
              choice.ruled,
              choice.rules,
              choice.scores.map(([who, score]) => `${who} ${short(score)}`).join(", "),
            ]),
          ),
        ),
      ),
  );
}

/** A row for each portfolio; null: there is none. */
export function choicesBlock(runs: RunModel[], view: TimeView): HTMLElement | null {
  const some = runs.filter((run) => (run.drawn.choices?.length ?? 0) > 0);
  if (some.length === 0) return null;
  return el(
    "div",
    { class: "strips" },
    el("h3", {}, "Who of the portfolio ruled"),
    some.map((run) => strip(run, view)),
  );
}
