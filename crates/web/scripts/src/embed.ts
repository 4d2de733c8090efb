// Control by the page that has this one in a frame, by postMessage. `README.md` describes the messages.
//
// Only the embedding page is heard, whatever its origin: anyone may embed a public stream, and the commands reach no
// further than a click on the player. What is told is what that page's visitor sees.

import type { Controls } from "./controls";
import type { Playback } from "./playback";

/** The value of `carillon` in every message. A later, incompatible protocol has another. */
const VERSION = 1;

/** What the embedding page is told. */
interface Told {
  carillon: typeof VERSION;
  event: "state";
  state: string;
  way: string | null;
  delay: number | null;
  muted: boolean;
  volume: number;
  title: string | null;
}

export class Embedding {
  private last = "";

  constructor(private readonly playback: Playback, private readonly controls: Controls) {
    if (parent === window) return;
    addEventListener("message", (event) => {
      if (event.source === parent) this.hear(event.data);
    });
  }

  /** Tells the embedding page what has changed. */
  show(): void {
    if (parent === window) return;
    const { playback, controls } = this;
    const media = controls.media();
    const delay = playback.delay();
    const told: Told = {
      carillon: VERSION,
      event: "state",
      state: playback.state,
      way: playback.way?.name ?? null,
      delay: delay === null ? null : Math.round(delay * 10) / 10,
      muted: media.muted,
      volume: Math.round(media.volume * 100) / 100,
      title: playback.offer.title,
    };
    const text = JSON.stringify(told);
    if (text === this.last) return;
    this.last = text;
    parent.postMessage(told, "*");
  }

  private hear(message: unknown): void {
    if (typeof message !== "object" || message === null) return;
    const { carillon, command, value } = message as Record<string, unknown>;
    if (carillon !== VERSION || typeof command !== "string") return;
    const { playback, controls } = this;
    switch (command) {
      case "play": playback.play(); break;
      case "pause": playback.pause(); break;
      case "mute": controls.setMuted(true); break;
      case "unmute": controls.setMuted(false); break;
      case "live": playback.goLive(); break;
      case "volume":
        if (typeof value === "number" && value >= 0 && value <= 1) controls.setVolume(value);
        break;
      case "state": this.last = ""; this.show(); break;
      default:
    }
  }
}
