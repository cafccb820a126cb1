// All there is: every figure, what was run, and where the files are.
import type { PageData, Run } from "./data";
import { details, el, scroller, valueTable, type Child } from "./dom";
import { fixed, short } from "./units";

function cell(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? fixed(value, 0) : short(value, 6);
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.length === 0) return "–";
  return JSON.stringify(value);
}

/** By columns of a few policies each, so that it fits. */
function allFigures(data: PageData): Child {
  const runs = data.runs.filter((run) => run.figures);
  const keys: string[] = [];
  for (const run of runs)
    for (const key of Object.keys(run.figures!)) if (!keys.includes(key)) keys.push(key);
  const shown = keys.filter((key) => key !== "run" && key !== "policy");
  return scroller(
    "All figures",
    valueTable(
      "All figures of the first run of each policy, as in summary.json",
      ["figure", ...runs.map((run) => run.policy)],
      shown.map((key) => [key, ...runs.map((run) => cell(run.figures![key]))]),
    ),
  );
}

interface Identity {
  program?: string;
  command?: string;
  options?: Record<string, unknown>;
  defaults?: Record<string, unknown>;
  parameters?: Record<string, unknown>;
  inputs?: Record<string, unknown>[];
}

function identity(run: Run): Child {
  const what = run.figures?.run as Identity | undefined;
  if (!what) return null;
  const list = (title: string, values: Record<string, unknown> | undefined) =>
    values &&
    Object.keys(values).length > 0 &&
    details(
      title,
      el(
        "dl",
        { class: "pairs" },
        Object.entries(values).map(([key, value]) => [
          el("dt", {}, key),
          el("dd", {}, cell(value)),
        ]),
      ),
    );
  return el(
    "article",
    {},
    el("h3", {}, run.policy),
    el("p", {}, `${what.program ?? ""} ${what.command ?? ""}, seed ${run.seed}`),
    list("Options that were given", what.options),
    list("Parameters of the policy", what.parameters),
    what.inputs &&
      what.inputs.length > 0 &&
      el(
        "ul",
        {},
        what.inputs.map((input) =>
          el(
            "li",
            {},
            `${cell(input.option)}: ${cell(input.file)}, ${cell(input.bytes)} bytes, crc64 ${cell(input.crc64)}`,
          ),
        ),
      ),
    list("All other options", what.defaults),
  );
}

/** Addresses that stay below the page: names of files are data, too. */
function address(run: Run, file: string): string {
  const parts = run.folder === "" ? [file] : [...run.folder.split("/"), file];
  return parts
    .map(encodeURIComponent)
    .join("/")
    .replace(/^(?=[^/]*:)/, "./");
}

function seeds(data: PageData): Child {
  if (data.runs.length <= data.groups.length) return null;
  return details(
    `Figures of all ${data.runs.length} runs`,
    scroller(
      "Figures of all runs",
      valueTable(
        "Each run",
        [
          "policy",
          "seed",
          ...data.columns.map((c) => (c.unit ? `${c.title} (${c.unit})` : c.title)),
        ],
        data.runs.map((run) => [
          run.policy,
          String(run.seed),
          ...run.values.map((v, i) => (v === null ? "–" : fixed(v, data.columns[i]!.decimals))),
        ]),
      ),
    ),
  );
}

export function figuresSection(data: PageData): HTMLElement {
  return el(
    "section",
    { id: "figures" },
    el("h2", {}, "All figures, and what was run"),
    details("All figures", allFigures(data)),
    seeds(data),
    details(
      "What was run",
      el("div", { class: "grid" }, data.runs.filter((run) => run.figures).map(identity)),
    ),
    details(
      "Files",
      el(
        "ul",
        { class: "files" },
        data.runs
          .filter((run) => run.files.length > 0)
          .map((run) =>
            el(
              "li",
              {},
              el("strong", {}, run.policy),
              `, seed ${run.seed}: `,
              run.files.map((file, i) => [
                i > 0 && ", ",
                el("a", { href: address(run, file) }, file),
              ]),
            ),
          ),
      ),
    ),
  );
}
