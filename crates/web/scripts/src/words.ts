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

/** How many listen, for people. */
export const listenersOf = (count: number): string => count === 1 ? "1 listener" : `${count} listeners`;

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** For how long a stream has been live, for people; the server says it in the same words. */
export const ageOf = (age: number): string => {
  const minutes = Math.floor(age / MINUTE_S);
  const [days, hours] = [Math.floor(age / DAY_S), Math.floor(age / HOUR_S)];
  if (days > 1) return `live for ${days} days`;
  if (days === 1) return "live for a day";
  if (hours > 0) return `live for ${hours} h ${minutes % 60} min`;
  return minutes > 0 ? `live for ${minutes} min` : "just went live";
};

/** How long something lasts, for people: `1 h 5 min`, `5 min`, `12 s`. */
export const lengthOf = (length: number): string => {
  const whole = Math.round(length);
  if (whole < MINUTE_S) return `${whole} s`;
  const [hours, minutes] = [Math.floor(whole / HOUR_S), Math.floor((whole % HOUR_S) / MINUTE_S)];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`;
};

/** How large a file is, for people: `1.2 GB`, `12 kB`. */
export const sizeOf = (bytes: number): string => {
  const units = ["kB", "MB", "GB", "TB"];
  let size = bytes / 1_000;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit] ?? ""}`;
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
