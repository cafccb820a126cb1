// Elements made of values. Text from data only ever becomes text nodes or attributes: nothing in it
// is read as HTML.

export type Child = Node | string | number | null | undefined | false | Child[];
type Value = string | number | boolean | null | undefined | ((event: never) => void);
export type Attributes = Record<string, Value>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.replace(/^on/, ""), value as (event: Event) => void);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

let ids = 0;
export function freshId(prefix: string): string {
  return `${prefix}-${++ids}`;
}

/** A labelled choice. */
export function select(
  label: string,
  options: [value: string, text: string][],
  value: string,
  onchange: (value: string) => void,
): HTMLLabelElement {
  const list = el(
    "select",
    { onchange: () => onchange(list.value) },
    options.map(([v, text]) => el("option", { value: v, selected: v === value }, text)),
  );
  return el("label", { class: "choice" }, el("span", {}, label), list);
}

/** A table of plain values: what a picture shows, for those who do not see it. */
export function valueTable(caption: string, head: string[], rows: Child[][]): HTMLTableElement {
  return el(
    "table",
    { class: "values" },
    el("caption", {}, caption),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head.map((text) => el("th", { scope: "col" }, text)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map((row) =>
        el(
          "tr",
          {},
          row.map((cell, i) => (i === 0 ? el("th", { scope: "row" }, cell) : el("td", {}, cell))),
        ),
      ),
    ),
  );
}

/** A box that scrolls where nothing else helps; the keyboard can reach and scroll it. */
export function scroller(label: string, ...children: Child[]): HTMLDivElement {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, children);
}

export function details(summary: string, ...children: Child[]): HTMLDetailsElement {
  return el("details", {}, el("summary", {}, summary), children);
}

/** Calls `draw` with the width of the element, now and whenever that changes. */
export function onWidth(element: HTMLElement, draw: (width: number) => void): void {
  let last = 0;
  const look = () => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  };
  new ResizeObserver(look).observe(element);
  look();
}

/**
 * Small multiples, of which the first few are shown and the others on request: `make` is called for
 * those only then.
 */
export function folded<T>(
  items: T[],
  most: number,
  make: (item: T) => HTMLElement,
  what: string,
): HTMLElement {
  const box = el("div", { class: "multiples" });
  // To fold a single one would save nothing.
  const first = items.length <= most + 1 ? items.length : most;
  items.slice(0, first).forEach((item) => box.append(make(item)));
  const rest = items.slice(first);
  if (rest.length > 0) {
    const more = el(
      "button",
      {
        type: "button",
        class: "more",
        onclick: () => {
          more.remove();
          rest.forEach((item) => box.append(make(item)));
        },
      },
      `Show ${rest.length} more ${what}`,
    );
    box.append(more);
  }
  return box;
}
