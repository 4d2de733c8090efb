// Playing on another device: AirPlay, and the Remote Playback API (Google Cast in Chrome).

import { byId, drawing } from "./dom";
import { ICONS } from "./icons";

/** What Safari has beside the standard. */
interface AirPlay {
  webkitShowPlaybackTargetPicker?(): void;
}

const NAME = "Play on another device";

/** Shows the button while there is a device for `media()`, the element that plays. */
export const offerDevices = (elements: HTMLMediaElement[], media: () => HTMLMediaElement): void => {
  const button = byId<HTMLButtonElement>("cast");
  button.replaceChildren(drawing(ICONS.cast, 24));
  button.title = NAME;
  button.setAttribute("aria-label", NAME);
  const devices = new Set<HTMLMediaElement>();
  const show = (one: HTMLMediaElement, isThere: boolean): void => {
    if (isThere) devices.add(one);
    else devices.delete(one);
    button.hidden = devices.size === 0;
  };
  for (const one of elements) {
    if ("webkitShowPlaybackTargetPicker" in one) {
      one.addEventListener("webkitplaybacktargetavailabilitychanged", (event) => {
        show(one, (event as Event & { availability?: string }).availability === "available");
      });
    } else {
      // A browser without devices rejects.
      one.remote?.watchAvailability((isThere) => show(one, isThere)).catch(() => {});
    }
  }
  button.addEventListener("click", () => {
    const one = media() as HTMLMediaElement & AirPlay;
    if (one.webkitShowPlaybackTargetPicker) one.webkitShowPlaybackTargetPicker();
    else one.remote?.prompt().catch(() => {});
  });
};
