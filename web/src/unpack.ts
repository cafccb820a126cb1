// Packed tables (see Packed in data.ts) made into columns of numbers.
import type { Packed } from "./data";

export type Numbers = Float64Array | Int32Array;

export interface Table {
  rows: number;
  words: Record<string, string[]>;
  /** The column of that name; zeros where the table has none. */
  get(name: string): Numbers;
  has(name: string): boolean;
}

/** Lets the browser paint and answer between two pieces of work. */
export function breath(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

/** Gives way only when this much time has gone by since it last did: giving way costs time, too. */
export class Pace {
  private since = performance.now();
  async rest(): Promise<void> {
    if (performance.now() - this.since < 30) return;
    await breath();
    this.since = performance.now();
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    // The browser's own words are of fetching, which nobody did.
    throw new Error("its packed data is damaged");
  }
}

/** One column of `rows` values from `at` on, and where the next one begins. */
export function column(bytes: Uint8Array, at: number, rows: number): [Numbers, number] {
  const values = new Float64Array(rows);
  let value = 0;
  let small = true;
  for (let i = 0; i < rows; i++) {
    let byte = bytes[at++]!;
    let zigzag = byte & 127;
    // Beyond 28 bits by multiplication: bit operations have 32.
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[at++]!;
      if (byte === undefined) throw new Error("a packed table ends too early");
      zigzag = shift < 28 ? zigzag | ((byte & 127) << shift) : zigzag + (byte & 127) * 2 ** shift;
    }
    const half = Math.floor(zigzag / 2);
    value += zigzag % 2 === 0 ? half : -half - 1;
    values[i] = value;
    small &&= value >= -2147483648 && value <= 2147483647;
  }
  return [small ? Int32Array.from(values) : values, at];
}

export async function unpack(packed: Packed): Promise<Table> {
  const pace = new Pace();
  const bytes = await inflate(bytesOf(packed.data));
  const columns = new Map<string, Numbers>();
  let at = 0;
  for (const name of packed.columns) {
    let values: Numbers;
    [values, at] = column(bytes, at, packed.rows);
    columns.set(name, values);
    await pace.rest();
  }
  if (at !== bytes.length) throw new Error("a packed table is longer than its columns");
  const none = new Int32Array(packed.rows);
  return {
    rows: packed.rows,
    words: packed.words,
    get: (name) => columns.get(name) ?? none,
    has: (name) => columns.has(name),
  };
}

/** A column of microseconds in seconds; -1 stays -1: never. */
export function seconds(values: Numbers): Float64Array {
  const result = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) result[i] = values[i] === -1 ? -1 : values[i]! / 1e6;
  return result;
}
