// What the page shows of the stream beside the player: title, listeners, hints, addresses.

import { byId, drawing, element, say } from "./dom";
import type { Address, Offer } from "./offer";
import { encode } from "./qr";
import { HERE } from "./sources/source";
import { listenersOf } from "./words";

/** The light frame around a QR code, in modules (ISO/IEC 18004 §6.3.8). */
const QUIET = 4;

const rowOf = ({ label, path }: Address): HTMLLIElement => {
  const url = new URL(path, document.baseURI).href;
  const row = element("li");
  const text = element("code", url);
  const copy = Object.assign(element("button", "Copy"), { type: "button" });
  copy.setAttribute("aria-label", `Copy the ${label} address`);
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(url);
      copy.textContent = "Copied";
    } catch {
      // Without HTTPS there is no clipboard; selected text is one key away from it.
      getSelection()?.selectAllChildren(text);
    }
  });
  row.append(element("span", label), text, copy);
  return row;
};

const listAddresses = (addresses: Address[]): void => {
  const rows = addresses.map(rowOf);
  byId("players").hidden = rows.length === 0;
  const list = byId("addresses");
  const urls = (nodes: Iterable<Element>): string =>
    [...nodes].map((row) => row.querySelector("code")?.textContent).join();
  // Rows that have not changed are left alone, so that a focused button keeps the focus.
  if (urls(list.children) !== urls(rows)) list.replaceChildren(...rows);
};

/** Tells the device what plays, for its lock screen and its keys. */
const showMetadata = ({ title, picture }: Offer): void => {
  if (typeof MediaMetadata !== "function" || !navigator.mediaSession) return;
  const name = document.querySelector("h1")?.textContent ?? "";
  const icon = { src: new URL("icon.svg", HERE).href, type: "image/svg+xml", sizes: "any" };
  const artwork = picture ? [{ src: picture }] : [icon];
  navigator.mediaSession.metadata = new MediaMetadata({ title: title || name, artist: name, artwork });
};

/** Shows the picture that belongs to the title, unless it cannot be had. */
const showCover = (picture: string | null | undefined): void => {
  const cover = byId<HTMLImageElement>("cover");
  if ((cover.dataset["of"] ?? "") === (picture ?? "")) return;
  cover.dataset["of"] = picture ?? "";
  cover.hidden = true;
  cover.onload = () => { cover.hidden = false; };
  // The host of the picture need not learn what is listened to.
  cover.referrerPolicy = "no-referrer";
  if (picture) cover.src = picture;
  else cover.removeAttribute("src");
};

/** Writes what the server says. */
export const showOffer = (offer: Offer): void => {
  const title = byId("title");
  title.hidden = !offer.title;
  say(title, offer.title ?? "");
  showMetadata(offer);
  showCover(offer.picture);
  const count = byId("listeners");
  count.hidden = typeof offer.listeners !== "number";
  say(count, listenersOf(offer.listeners ?? 0));
  const notes = byId("notes");
  notes.hidden = offer.notes.length === 0;
  notes.replaceChildren(...offer.notes.map((text) => element("li", text)));
  listAddresses(offer.addresses);
};

/** Draws the page's address when it is asked for. */
export const offerCode = (): void => {
  const share = byId<HTMLDetailsElement>("share");
  const address = `${location.origin}${location.pathname}`;
  const rows = encode(address);
  share.hidden = rows === null;
  if (!rows) return;
  share.addEventListener("toggle", () => {
    const place = byId("qr");
    if (!share.open || place.firstChild) return;
    const path = rows.flatMap((row, y) => row.flatMap((isDark, x) =>
      isDark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : []));
    const svg = drawing(path.join(""), rows.length + 2 * QUIET);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `QR code of ${address}`);
    place.replaceChildren(svg);
  });
};
