// The newest picture of the stream, as the server had it, until the player has its own.

import { byId } from "./dom";

export class Poster {
  private readonly still = byId<HTMLVideoElement>("still");
  private isLoaded = false;
  private isOver = false;

  /** `video` is the element that plays. */
  constructor(video: HTMLVideoElement) {
    const { still } = this;
    still.addEventListener("loadeddata", () => this.load());
    // A picture that the browser does not decode, or that there is none of.
    still.addEventListener("error", () => this.end());
    video.addEventListener("playing", () => this.end());
    if (still.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) this.load();
    if (!still.getAttribute("src")) this.isOver = true;
  }

  show(): void {
    this.still.hidden = this.isOver || !this.isLoaded;
  }

  private load(): void {
    this.isLoaded = true;
    this.show();
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.show();
    // Frees the player.
    this.still.removeAttribute("src");
    this.still.load();
  }
}
