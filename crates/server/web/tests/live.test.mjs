// How a player comes back to live.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";

const { Governor, JUMP_S } = await import(join(process.env.CARILLON_MODULES, "live.mjs"));
const { Words, seconds } = await import(join(process.env.CARILLON_MODULES, "words.mjs"));

test("a small drift is left alone, a larger one made up, a large one jumped over", () => {
  const governor = new Governor();
  const target = governor.target();
  assert.deepEqual(governor.step(target + 0.1), { rate: 1, jump: null });
  assert.deepEqual(governor.step(target + 0.1), { rate: 1, jump: null });
  assert.deepEqual(governor.step(target + 2), { rate: 1.1, jump: null });
  // It goes on until live is reached.
  assert.deepEqual(governor.step(target + 0.1), { rate: 1.05, jump: null });
  assert.deepEqual(governor.step(target), { rate: 1, jump: null });
  assert.deepEqual(governor.step(target + 0.1), { rate: 1, jump: null });
  assert.deepEqual(governor.step(target + JUMP_S + 1), { rate: 1, jump: target });
});

test("a player begins live, whatever was sent before", () => {
  const governor = new Governor();
  const target = governor.target();
  assert.deepEqual(governor.step(target + 1), { rate: 1, jump: target });
  assert.deepEqual(governor.step(target + 1), { rate: 1, jump: target });
  assert.deepEqual(governor.step(target + 1), { rate: 1.05, jump: null });
});

test("a player that runs dry keeps more, within a bound", () => {
  const governor = new Governor();
  const before = governor.target();
  governor.stalled();
  assert.ok(governor.target() > before);
  for (let stall = 0; stall < 100; stall += 1) governor.stalled();
  assert.ok(governor.target() < JUMP_S);
});

test("a player that has not run dry for long keeps less again", () => {
  const governor = new Governor();
  const before = governor.target();
  governor.stalled();
  for (let second = 0; second < 55; second += 1) governor.step(governor.target());
  assert.ok(governor.target() > before);
  for (let second = 0; second < 10; second += 1) governor.step(governor.target());
  assert.equal(governor.target(), before);
});

test("the delay is said again when it has changed, and not each second", () => {
  const words = new Words();
  const playing = (delay) => ({ state: "playing", delay: () => delay });
  assert.equal(words.of(playing(1.84), 0), "Playing, 1.8 s behind.");
  assert.equal(words.of(playing(3), 1_000), "Playing, 1.8 s behind.");
  assert.equal(words.of(playing(1.9), 9_000), "Playing, 1.8 s behind.");
  assert.equal(words.of(playing(3), 9_000), "Playing, 3.0 s behind.");
  assert.equal(words.of(playing(null), 9_000), "Playing.");
  assert.equal(words.of({ state: "offline", delay: () => null }, 9_000), "Not live. Waiting for the broadcaster.");
  assert.equal(seconds(12.3), "12 s");
  assert.equal(seconds(0.02), "under 0.1 s");
});
