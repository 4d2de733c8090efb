// The list of live streams: keeps its cards up to date while the page is visible, and searches them as one types.

import { byId, say } from "./dom";
import { ageOf, listenersOf } from "./words";

/** How often the server is asked. */
const REFRESH_MS = 5_000;
/** How long a still is shown before a newer one is fetched. */
const STILL_MS = 15_000;
/** Stills are loaded this far outside of the window; browsers have players for some seventy at once. */
const MARGIN = "300px";

/** A stream as `/api/v1/public/streams` has it, as far as a card shows it. All texts are untrusted. */
interface PublicStream {
  name: string;
  display_name: string;
  description: string | null;
  title: string | null;
  since: string;
  listeners: number;
  kinds: string[];
  still: string | null;
  format: string;
}

const part = <T extends HTMLElement>(node: HTMLElement, selector: string): T => {
  const found = node.querySelector<T>(selector);
  if (!found) throw new Error(`a card has no ${selector}`);
  return found;
};

/** One stream's entry in the list. */
class Card {
  private stillAt = 0;
  private isSeen = false;

  constructor(readonly node: HTMLElement) {
    this.hear(this.video());
  }

  /** A card without a text, from the page's template. */
  static blank(): Card {
    const { content } = byId<HTMLTemplateElement>("card");
    return new Card(document.importNode(part(content as unknown as HTMLElement, ".card"), true));
  }

  show(stream: PublicStream, now: number): void {
    const { node } = this;
    const link = part<HTMLAnchorElement>(node, "a");
    const address = `./${stream.name}/`;
    if (link.getAttribute("href") !== address) link.setAttribute("href", address);
    node.dataset["name"] = stream.name;
    node.dataset["kind"] = stream.kinds.includes("video") ? "picture" : "sound";
    say(link, stream.display_name);
    say(part(node, ".title"), stream.title ?? stream.description ?? "");
    say(part(node, ".listeners"), listenersOf(stream.listeners));
    const time = part<HTMLTimeElement>(node, "time");
    time.dateTime = stream.since;
    say(time, ageOf((now - Date.parse(stream.since)) / 1000));
    say(part(node, ".format"), stream.format);
    node.dataset["still"] = stream.still === null ? "" : `${address}still.mp4`;
    this.refresh();
  }

  /** The card has come into sight, or has left it. */
  see(isSeen: boolean): void {
    this.isSeen = isSeen;
    if (isSeen) this.refresh();
    else this.video().preload = "none";
  }

  /** Fetches a newer still, which replaces the one shown when it is there. */
  private refresh(): void {
    const address = this.node.dataset["still"] ?? "";
    const video = this.video();
    if (!address) video.hidden = true;
    const isFresh = performance.now() - this.stillAt < STILL_MS && this.stillAt > 0;
    if (!address || !this.isSeen || isFresh) return;
    this.stillAt = performance.now();
    const next = video.cloneNode() as HTMLVideoElement;
    next.hidden = false;
    next.muted = true;
    next.preload = "auto";
    this.hear(next);
    next.addEventListener("loadeddata", () => {
      const shown = this.video();
      shown.replaceWith(next);
      unload(shown);
    }, { once: true });
    next.src = address;
  }

  /** What cannot be loaded or decoded leaves the place to the sign below it. */
  private hear(video: HTMLVideoElement): void {
    video.addEventListener("error", () => { video.hidden = true; });
  }

  private video(): HTMLVideoElement {
    return part(this.node, "video");
  }
}

/** Frees a player before the element is collected. */
const unload = (video: HTMLVideoElement): void => {
  video.removeAttribute("src");
  video.load();
};

const list = byId("streams");
const search = byId<HTMLInputElement>("q");
const form = byId<HTMLFormElement>("search");
const count = byId("count");
const cards = new Map<string, Card>();
let streams: PublicStream[] | null = null;

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    cards.get((target as HTMLElement).dataset["name"] ?? "")?.see(isIntersecting);
  }
}, { rootMargin: MARGIN });

const wanted = (): string[] => search.value.toLowerCase().split(/\s+/).filter(Boolean);

/** Whether a stream's texts have all these words. */
const hasAll = (stream: PublicStream, words: string[]): boolean => {
  const texts = [stream.name, stream.display_name, stream.description ?? "", stream.title ?? ""];
  const lower = texts.map((text) => text.toLowerCase());
  return words.every((word) => lower.some((text) => text.includes(word)));
};

const counted = (shown: number, all: number): string => {
  if (shown !== all) return `${shown} of ${all} streams`;
  return all === 1 ? "1 stream" : `${all} streams`;
};

const cardOf = ({ name }: PublicStream): Card => {
  const known = cards.get(name);
  if (known) return known;
  const card = Card.blank();
  card.node.dataset["name"] = name;
  cards.set(name, card);
  observer.observe(card.node);
  return card;
};

const show = (): void => {
  if (!streams) return;
  const words = wanted();
  const now = Date.now();
  const shown = streams.filter((stream) => hasAll(stream, words));
  const names = new Set(shown.map(({ name }) => name));
  for (const [name, card] of cards) {
    if (names.has(name)) continue;
    observer.unobserve(card.node);
    card.node.remove();
    cards.delete(name);
  }
  shown.forEach((stream, at) => {
    const card = cardOf(stream);
    card.show(stream, now);
    // Cards that stay where they are are left alone, so that a focused link keeps the focus.
    if (list.children[at] !== card.node) list.insertBefore(card.node, list.children[at] ?? null);
  });
  const isEmpty = streams.length === 0;
  form.hidden = isEmpty && words.length === 0;
  count.hidden = isEmpty;
  say(count, counted(shown.length, streams.length));
  byId("empty").hidden = !isEmpty;
  byId("no-match").hidden = isEmpty || shown.length > 0;
};

const refresh = async (): Promise<void> => {
  if (document.hidden) return;
  try {
    const answer = await fetch("./api/v1/public/streams");
    const body = await answer.json() as { streams?: unknown };
    if (!answer.ok || !Array.isArray(body.streams)) return;
    streams = body.streams as PublicStream[];
    show();
  } catch {
    // The next refresh may succeed.
  }
};

for (const node of list.querySelectorAll<HTMLElement>(".card")) {
  cards.set(node.dataset["name"] ?? "", new Card(node));
  observer.observe(node);
}
search.addEventListener("input", () => {
  const address = new URL(location.href);
  if (search.value) address.searchParams.set("q", search.value);
  else address.searchParams.delete("q");
  history.replaceState(null, "", address);
  show();
});
form.addEventListener("submit", (event) => event.preventDefault());
setInterval(() => void refresh(), REFRESH_MS);
document.addEventListener("visibilitychange", () => void refresh());
void refresh();
