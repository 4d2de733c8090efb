// Ages and counts: the server says them in the same words (`http/pages/list.rs`).

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";

const { ageOf, lengthOf, listenersOf, sizeOf } = await import(join(process.env.CARILLON_MODULES, "words.mjs"));

test("a long time is told roughly", () => {
  for (const [seconds, expected] of [
    [-3, "just went live"],
    [0, "just went live"],
    [59, "just went live"],
    [60, "live for 1 min"],
    [3_599, "live for 59 min"],
    [3_660, "live for 1 h 1 min"],
    [86_399, "live for 23 h 59 min"],
    [86_400, "live for a day"],
    [180_000, "live for 2 days"],
  ]) assert.equal(ageOf(seconds), expected);
});

test("one listener is one", () => {
  assert.deepEqual([0, 1, 2].map(listenersOf), ["0 listeners", "1 listener", "2 listeners"]);
});

test("a length is told by its largest parts", () => {
  for (const [seconds, expected] of [[0, "0 s"], [59.4, "59 s"], [60, "1 min"], [3_599, "59 min"], [3_900, "1 h 5 min"]]) {
    assert.equal(lengthOf(seconds), expected);
  }
});

test("a size has the unit that makes it short", () => {
  for (const [bytes, expected] of [
    [0, "0.0 kB"],
    [1_234, "1.2 kB"],
    [45_678, "46 kB"],
    [999_499, "999 kB"],
    [999_600, "1.0 MB"],
    [450_000_000, "450 MB"],
    [1_240_000_000, "1.2 GB"],
    [5e15, "5000 TB"],
  ]) {
    assert.equal(sizeOf(bytes), expected);
  }
});
