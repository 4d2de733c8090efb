// Which ways were tried, and what came of it.

import type { Way, WayName } from "./ways";

/** Where every way was too slow, each is given more time, up to this factor. */
const PATIENCE_MAX = 4;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
/** A decoder that fails this often without having played for long will fail again. */
const DECODER_FAILURES_MAX = 2;

export class Attempts {
  /** The factor of all limits for a start. */
  patience = 1;
  /** Ways that do not work here, and those that were only too slow, each with the reason. */
  private readonly failed = new Map<WayName, string>();
  private readonly slow = new Map<WayName, string>();
  private decoderFailures = 0;
  private retryMs = FIRST_RETRY_MS;

  /** Forgets everything: the stream or the wish is another. */
  clear(): void {
    this.failed.clear();
    this.slow.clear();
    this.patience = 1;
    this.retryMs = FIRST_RETRY_MS;
    this.decoderFailures = 0;
  }

  /** Those that are worth trying. */
  left(ways: Way[]): Way[] {
    return ways.filter(({ name }) => !this.failed.has(name) && !this.slow.has(name));
  }

  fail(way: WayName, words: string): void {
    this.failed.set(way, words);
  }

  tire(way: WayName, words: string): void {
    this.slow.set(way, words);
  }

  /** Why a way was left; `undefined` if it was not. */
  reason(way: WayName): string | undefined {
    return this.failed.get(way) ?? this.slow.get(way);
  }

  /** Gives slow ways another turn, with more time. False if there are none. */
  forgiveSlow(): boolean {
    if (this.slow.size === 0) return false;
    this.slow.clear();
    this.patience = Math.min(this.patience * 2, PATIENCE_MAX);
    return true;
  }

  /** A way plays. Others that were too slow stay so: the network that stops them is the same. */
  succeed(way: WayName): void {
    this.slow.delete(way);
    this.retryMs = FIRST_RETRY_MS;
    this.patience = 1;
  }

  /** It has played for long. */
  settle(): void {
    this.decoderFailures = 0;
  }

  /** Whether the decoder may be given the same again. */
  mayDecodeAgain(): boolean {
    this.decoderFailures += 1;
    return this.decoderFailures < DECODER_FAILURES_MAX;
  }

  /** The publisher is back: what failed meanwhile says nothing about the next try. */
  hurry(): void {
    this.retryMs = FIRST_RETRY_MS;
  }

  /** The pause before the next try; it grows. */
  pauseMs(): number {
    const ms = this.retryMs;
    this.retryMs = Math.min(ms * 2, LAST_RETRY_MS);
    return ms;
  }
}
