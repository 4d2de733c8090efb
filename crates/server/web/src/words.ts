// The player's state in words.

import type { Playback } from "./playback";
import type { State } from "./state";

const WORDS: Readonly<Record<State, string>> = {
  connecting: "Connecting.",
  playing: "Playing.",
  buffering: "Waiting for the stream.",
  paused: "Paused.",
  blocked: "Ready. Press Play.",
  reconnecting: "Reconnecting.",
  unreachable: "Reconnecting. The server cannot be reached.",
  away: "Waiting for the broadcaster. Playback continues by itself.",
  offline: "Not live. Waiting for the broadcaster.",
  failed: "This browser cannot play the stream. Use a player with an address from below.",
};

/** A screen reader reads each change, so the delay is said again only if it differs by this much, … */
const DELAY_STEP_S = 0.5;
/** … and not sooner than this. */
const DELAY_SAID_MS = 5_000;

/** A shorter delay is not worth a figure. */
const SHORTEST_S = 0.1;

/** A delay for people: `1.8 s`; `under` says that it is too short for a figure. */
export const seconds = (delay: number, under = "under "): string => {
  if (delay < SHORTEST_S) return `${under}${SHORTEST_S} s`;
  return `${delay.toFixed(delay < 10 ? 1 : 0)} s`;
};

/** Remembers what it has said. */
export class Words {
  private saidS: number | null = null;
  private saidAt = 0;

  /** The state at this time, in milliseconds of any clock. */
  of(playback: Playback, now: number): string {
    if (playback.state !== "playing") {
      this.saidS = null;
      return WORDS[playback.state];
    }
    const delay = playback.delay();
    if (delay === null) return WORDS.playing;
    const isNew = this.saidS === null
      || (Math.abs(delay - this.saidS) >= DELAY_STEP_S && now - this.saidAt >= DELAY_SAID_MS);
    if (isNew) [this.saidS, this.saidAt] = [delay, now];
    return `Playing, ${seconds(this.saidS ?? delay)} behind.`;
  }
}
