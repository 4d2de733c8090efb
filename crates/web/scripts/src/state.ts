// The words that playback and its controls share.

/** What is going on. */
export type State =
  /** A way is being tried. */
  | "connecting"
  | "playing"
  /** It has played, and waits for media. */
  | "buffering"
  | "paused"
  /** The browser, or the page's address, demands a click first. */
  | "blocked"
  /** The connection was lost and is made again. */
  | "reconnecting"
  /** The server does not answer. */
  | "unreachable"
  /** The publisher is away, and may return. */
  | "away"
  /** There is no publisher. */
  | "offline"
  /** No way plays it in this browser. */
  | "failed";

/** The elements that play. */
export interface Stage {
  video: HTMLVideoElement;
  audio: HTMLAudioElement;
}
