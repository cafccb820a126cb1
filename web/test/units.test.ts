import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";
import { classesOf, quantile, upperBound } from "../src/model";
import { heldSteps, Steps } from "../src/steps";
import {
  change,
  decimalsFor,
  duration,
  fixed,
  moment,
  momentTicks,
  roundDuration,
  short,
  signed,
  unitFor,
} from "../src/units";
import { seconds, unpack } from "../src/unpack";

/** As docs/architecture.md says, by the book: big integers, one digit after the other. */
function pack(columns: Record<string, number[]>) {
  const bytes: number[] = [];
  for (const values of Object.values(columns)) {
    let last = 0n;
    for (const value of values) {
      const difference = BigInt(value) - last;
      last = BigInt(value);
      let zigzag = difference >= 0n ? 2n * difference : -2n * difference - 1n;
      for (; zigzag >= 128n; zigzag >>= 7n) bytes.push(Number(zigzag & 127n) | 128);
      bytes.push(Number(zigzag));
    }
  }
  const rows = Object.values(columns)[0]!.length;
  return {
    rows,
    columns: Object.keys(columns),
    words: {},
    data: deflateSync(Uint8Array.from(bytes)).toString("base64"),
  };
}

test("what was packed comes out, also beyond 32 and 52 bits", async () => {
  const columns = {
    plain: [0, 1, -1, 63, 64, -64, -65],
    large: [0, 2 ** 31, -(2 ** 31), 2 ** 45 + 1, 2 ** 51, -(2 ** 51), 3],
    times: [0, 97225000000, 327952000001, 6735467542612, 6735467542613, 1, -1],
  };
  const table = await unpack(pack(columns));
  for (const [name, values] of Object.entries(columns))
    assert.deepEqual([...table.get(name)], values);
  assert.ok(table.get("plain") instanceof Int32Array);
  assert.ok(table.get("large") instanceof Float64Array);
  assert.ok(!table.has("none"));
  assert.deepEqual([...table.get("none")], [0, 0, 0, 0, 0, 0, 0]);
  assert.equal(seconds(table.get("times"))[6], -1);
  assert.equal(seconds(table.get("times"))[3], 6735467.542612);
});

test("a table that is cut off is no table", async () => {
  const packed = pack({ a: [1, 2, 3] });
  await assert.rejects(unpack({ ...packed, rows: 4 }));
  await assert.rejects(unpack({ ...packed, rows: 2 }));
});

test("random tables", async () => {
  let seed = 1;
  const next = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let round = 0; round < 50; round++) {
    const values = Array.from({ length: 200 }, () =>
      Math.floor((next() - 0.5) * 2 ** Math.floor(next() * 52)),
    );
    assert.deepEqual([...(await unpack(pack({ values }))).get("values")], values);
  }
});

test("units follow the size", () => {
  assert.equal(unitFor("s", [120, 3]).name, "s");
  assert.equal(unitFor("s", [1000]).name, "min");
  assert.equal(unitFor("s", [9000, null]).name, "h");
  assert.equal(unitFor("s", [30e6]).name, "days");
  assert.equal(unitFor("node s", [39673]).name, "node h");
  assert.equal(unitFor("h", [0.03]).name, "s");
  assert.equal(unitFor("W", [19200]).name, "kW");
  assert.equal(unitFor("%", [58]).name, "%");
  assert.equal(duration(97.25), "97.3\u00a0s");
  assert.equal(duration(9336), "2.59\u00a0h");
  assert.equal(duration(0), "0\u00a0s");
  assert.equal(roundDuration(86400), "1\u00a0day");
  assert.equal(roundDuration(600), "10\u00a0min");
});

test("numbers", () => {
  assert.equal(fixed(-1234.5, 1), "\u22121\u2009234.5");
  assert.equal(short(0.01234), "0.0123");
  assert.equal(short(5269.2), "5\u2009269");
  assert.equal(decimalsFor([1, 2, 300]), 0);
  assert.equal(decimalsFor([58.436, 2.6]), 1);
  assert.equal(decimalsFor([21.385, 0.251]), 2);
  assert.equal(change(0.71), "29\u00a0% less");
  assert.equal(change(1.034), "3.4\u00a0% more");
  assert.equal(change(2.4), "2.4 times as much");
});

test("moments", () => {
  assert.equal(moment(0, 86400, 8e6), "day\u20090");
  assert.equal(moment(86400 + 3600 * 6, 3600, 8e6), "1d\u200906:00");
  assert.equal(moment(90, 10, 120), "90\u2009s");
  assert.equal(moment(90, 30, 8000), "00:01:30");
  assert.deepEqual(momentTicks(0, 10, 5).at, [0, 2, 4, 6, 8, 10]);
  assert.equal(momentTicks(0, 7.4e6, 8).step, 1728000);
});

test("steps: means over parts of a span", () => {
  const steps = new Steps(Float64Array.of(0, 10, 20), Float64Array.of(1, 3, 0), 30);
  assert.deepEqual(steps.means(0, 20, 2), [1, 3]);
  assert.deepEqual(steps.means(5, 15, 1), [2]);
  assert.deepEqual(steps.means(0, 40, 4), [1, 3, 0, null]);
  assert.equal(steps.mean(0, 20), 2);
  assert.deepEqual(steps.samples(0, 40, 4), [1, 3, 0, null]);
});

test("steps: what is held by intervals", () => {
  const steps = heldSteps(
    Float64Array.of(0, 2, 4),
    Float64Array.of(4, 6, 8),
    Float64Array.of(1, 2, 4),
    0,
    8,
  );
  assert.deepEqual(steps.means(0, 8, 8), [1, 1, 3, 3, 6, 6, 4, 4]);
});

test("quantiles and classes", () => {
  assert.equal(quantile([0, 10], 0.25), 2.5);
  assert.equal(upperBound([1, 1, 2], 1), 2);
  // A bound is in the class that it ends.
  const sizes = classesOf({ bounds: [1, 4, 16], names: ["1", "2–4", "5–16", "> 16"] });
  assert.deepEqual(
    [1, 2, 4, 5, 100].map((v) => sizes.names[sizes.of(v)]),
    ["1", "2–4", "2–4", "5–16", "> 16"],
  );
});

test("differences of times have their sign", () => {
  assert.equal(signed(7200), "+2\u00a0h");
  assert.equal(signed(0), "0\u00a0s");
  assert.equal(signed(-90), "\u221290\u00a0s");
});
