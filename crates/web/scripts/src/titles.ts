// Titles as they change: `/{stream}/titles` tells them by Server-Sent Events, while the page is visible.
//
// Only where an answer without an end takes no connection from others. Elsewhere, and while there are no events, the page
// has the title with the rest of what it asks for.

import { IS_MULTIPLEXED, type Title, admitted } from "./offer";

export class Titles {
  private events: EventSource | null = null;

  /** `tell` is given the title in force, each that follows, and `null` when no more are told. */
  constructor(private readonly tell: (title: Title | null) => void) {
    if (!IS_MULTIPLEXED || typeof EventSource !== "function") return;
    document.addEventListener("visibilitychange", () => this.follow(!document.hidden));
    addEventListener("pagehide", () => this.follow(false));
    addEventListener("pageshow", () => this.follow(!document.hidden));
    this.follow(!document.hidden);
  }

  private follow(isWanted: boolean): void {
    if (isWanted === Boolean(this.events)) return;
    this.events?.close();
    this.events = isWanted ? new EventSource(admitted("titles")) : null;
    if (!this.events) {
      this.tell(null);
      return;
    }
    this.events.onmessage = ({ data }) => {
      const { title, picture } = JSON.parse(data as string) as Title;
      this.tell({ title, picture: picture ?? null });
    };
    // The browser tries again by itself, unless it was refused.
    this.events.onerror = () => this.tell(null);
  }
}
