// Whether a player gets on, and its picture. Reads no clock.

/** A gap between two looks that no timer has by itself: the page was frozen, or hidden for long. */
const FROZEN_MS = 5_000;

/** Times in milliseconds. */
export interface Progress {
  /** It has played something since the last look. */
  hasMoved: boolean;
  /** For how long nothing has played. */
  stillMs: number;
  /** For how long nothing has played and nothing has arrived. */
  idleMs: number;
}

/** Watches two numbers that change whenever media arrives, and whenever it is played. */
export class Watchdog {
  private lookedAt = 0;
  private movedAt = 0;
  private arrivedAt = 0;

  constructor(now: number, private played: number, private received: number) {
    this.reset(now);
  }

  /** Begins anew: what lies before does not count. */
  reset(now: number): void {
    [this.lookedAt, this.movedAt, this.arrivedAt] = [now, now, now];
  }

  look(now: number, played: number, received: number): Progress {
    if (now - this.lookedAt > FROZEN_MS) this.reset(now);
    this.lookedAt = now;
    const hasMoved = played !== this.played;
    if (hasMoved) [this.played, this.movedAt] = [played, now];
    if (received !== this.received) [this.received, this.arrivedAt] = [received, now];
    return {
      hasMoved,
      stillMs: now - this.movedAt,
      idleMs: now - Math.max(this.movedAt, this.arrivedAt),
    };
  }
}

/** A picture for which a decoder has waited so long, and in vain asked for what it lacks, does not come. */
const STUCK_MS = 5_000;

/** As few in that time are the keyframes by which the server tries whether the link takes the picture again. */
const STUCK_FRAMES = 1;

/**
 * Watches the pictures of a session whose packets may be lost. Without a loss they only pause: the publisher has none to
 * send. Time in which nothing arrives does not count: the publisher is away, and comes back.
 */
export class PictureWatch {
  private lookedAt = 0;
  private shownAt = 0;
  private frames = 0;
  private bytes = 0;
  /** Losses when the last picture was shown. */
  private losses = 0;

  constructor(now: number) {
    [this.lookedAt, this.shownAt] = [now, now];
  }

  /** Takes how many pictures were shown so far, what was lost and what came. Returns whether they have stopped for good. */
  look(now: number, frames: number, losses: number, bytes: number): boolean {
    const passed = now - this.lookedAt;
    const isFrozen = passed > FROZEN_MS;
    if (bytes === this.bytes) this.shownAt += passed;
    [this.lookedAt, this.bytes] = [now, bytes];
    if (isFrozen || frames - this.frames > STUCK_FRAMES) [this.shownAt, this.frames, this.losses] = [now, frames, losses];
    return now - this.shownAt > STUCK_MS && losses > this.losses;
  }
}
