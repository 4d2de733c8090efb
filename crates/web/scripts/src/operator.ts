// The operator's page of recordings: a table with a filter, a player, what may be done with each, and the streams that are
// on air. It knows what the API tells, and asks it for everything.

import { byId, element, say } from "./dom";
import { lengthOf, sizeOf } from "./words";

/** `/api/v1/recordings`. */
interface Recording {
  id: string;
  stream: string;
  /** `null` when the copy in object storage is all that is left. */
  path: string | null;
  state: "open" | "closed" | "finalised";
  type: string;
  started: string;
  seconds: number;
  bytes: number;
  pinned: boolean;
  uploaded: boolean;
  location: string | null;
}

interface Page {
  recordings: Recording[];
  cursor: string | null;
}

/** How often a visible page asks again. */
const REFRESH_MS = 5_000;
const API = "api/v1/";

const STATES: Readonly<Record<Recording["state"], string>> = {
  open: "being recorded",
  closed: "being completed",
  finalised: "complete",
};

const form = byId<HTMLFormElement>("filter");
const stream = byId<HTMLInputElement>("stream");
const from = byId<HTMLInputElement>("from");
const to = byId<HTMLInputElement>("to");
const state = byId<HTMLSelectElement>("state");
const said = byId("said");
const rows = byId("rows");
const empty = byId("empty");
const more = byId<HTMLButtonElement>("more");
const onAir = byId("on-air");
const nothingOnAir = byId("nothing-on-air");
const video = byId<HTMLVideoElement>("past");
const dialog = byId<HTMLDialogElement>("confirm");

/** Pages of the list that are shown. */
let pages = 1;
let shown = "";
let shownOnAir = "";
/** What the player has, for people. */
let played: string | null = null;

const timeOf = (started: string): string =>
  new Date(started).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Asks the API. An answer other than success is an error in the words of the server. */
const ask = async (path: string, method = "GET", body?: unknown): Promise<Response> => {
  const options: RequestInit = { method };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "content-type": "application/json" };
  }
  const answer = await fetch(new URL(API + path, document.baseURI), options);
  if (answer.ok) return answer;
  const told = await answer.text();
  let words = told.trim();
  try {
    words = (JSON.parse(told) as { error?: string }).error ?? words;
  } catch { /* It is text. */ }
  throw new Error(words || `the server answered ${answer.status}`);
};

const tell = (words: string, isError = false): void => {
  said.classList.toggle("error", isError);
  say(said, words);
};

/** Does something, and says how it went. */
const attempt = async (words: string, what: () => Promise<unknown>): Promise<void> => {
  try {
    await what();
    tell(words);
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error), true);
  }
  await look();
};

/** The filter as the API takes it; the fields are in local time. */
const query = (cursor: string | null): string => {
  const wanted = new URLSearchParams({ order: "newest" });
  const set = (name: string, value: string): void => {
    if (value) wanted.set(name, value);
  };
  const time = (input: HTMLInputElement): string =>
    input.value ? new Date(input.value).toISOString().replace(/\.\d+Z$/, "Z") : "";
  set("stream", stream.value.trim());
  set("from", time(from));
  set("to", time(to));
  set("state", state.value);
  set("cursor", cursor ?? "");
  return `recordings?${wanted}`;
};

const button = (words: string, label: string, what: () => void): HTMLButtonElement => {
  const made = Object.assign(element("button", words), { type: "button" });
  made.setAttribute("aria-label", `${words} ${label}`);
  made.dataset["of"] = label;
  made.addEventListener("click", what);
  return made;
};

/** Where the media is: here, or a copy for which a link is made. */
const addressOf = async ({ id, path }: Recording): Promise<string> => {
  if (path !== null) return new URL(`${API}recordings/${id}/file`, document.baseURI).href;
  const answer = await ask(`recordings/${id}/link`);
  return (await answer.json() as { url: string }).url;
};

const play = async (one: Recording, label: string): Promise<void> => {
  await attempt(`Playing ${label}`, async () => {
    played = label;
    video.hidden = false;
    video.setAttribute("aria-label", label);
    video.src = await addressOf(one);
    video.scrollIntoView({ block: "nearest" });
    // A browser that refuses leaves it to its own button.
    await video.play().catch(() => undefined);
  });
};

const download = async (one: Recording, label: string): Promise<void> => {
  await attempt(`Downloading ${label}`, async () => {
    const address = await addressOf(one);
    const link = Object.assign(element("a"), { href: one.path === null ? address : `${address}?download=1` });
    link.click();
  });
};

/** Takes what was answered; events of a question before must not answer this one. */
let answer: (isConfirmed: boolean) => void = () => undefined;

/** Asks whether it is meant. The focus goes back to where it was. */
const confirmed = (question: string): Promise<boolean> => new Promise((resolve) => {
  say(byId("question"), question);
  answer = resolve;
  dialog.showModal();
});

const remove = async (one: Recording, label: string): Promise<void> => {
  const copy = one.uploaded ? " Its copy in object storage is deleted as well." : "";
  if (!await confirmed(`Delete ${label}?${copy} This cannot be undone.`)) return;
  await attempt(`Deleted ${label}`, () => ask(`recordings/${one.id}`, "DELETE"));
};

const pin = (one: Recording, label: string): Promise<void> =>
  attempt(one.pinned ? `Unpinned ${label}` : `Pinned ${label}`,
    () => ask(`recordings/${one.id}`, "PATCH", { pinned: !one.pinned }));

const copyOf = ({ uploaded, path, location }: Recording): HTMLTableCellElement => {
  const words = uploaded ? path === null ? "uploaded, file gone" : "uploaded" : "no copy";
  const cell = element("td", words);
  if (location) cell.title = location;
  return cell;
};

const row = (one: Recording): HTMLTableRowElement => {
  const label = `${one.stream}, ${timeOf(one.started)}`;
  const made = element("tr");
  const name = Object.assign(element("th", one.stream), { scope: "row" });
  const actions = element("td");
  actions.className = "actions";
  actions.append(button("Play", label, () => void play(one, label)),
    button("Download", label, () => void download(one, label)));
  if (one.path !== null) {
    actions.append(button(one.pinned ? "Unpin" : "Pin", label, () => void pin(one, label)));
  }
  if (one.state !== "open") actions.append(button("Delete", label, () => void remove(one, label)));
  const kept = one.pinned ? `${STATES[one.state]}, pinned` : STATES[one.state];
  made.append(name, element("td", timeOf(one.started)), element("td", lengthOf(one.seconds)),
    element("td", sizeOf(one.bytes)), element("td", kept), copyOf(one), actions);
  return made;
};

/** The place of a button among those of its row. */
const placeOf = (one: HTMLElement): number => [...one.parentElement?.children ?? []].indexOf(one);

/** Replaces rows. A button that is made anew keeps the focus, or the one in its place does. */
const replace = (list: HTMLElement, children: HTMLElement[]): void => {
  const focused = document.activeElement;
  const before = focused instanceof HTMLElement && list.contains(focused) ? focused : null;
  const place = before ? placeOf(before) : -1;
  list.replaceChildren(...children);
  if (!before) return;
  const same = [...list.querySelectorAll<HTMLElement>("button")]
    .filter((one) => one.dataset["of"] === before.dataset["of"]);
  (same.find((one) => placeOf(one) === place) ?? same[0] ?? said).focus();
};

const show = (recordings: Recording[], hasMore: boolean): void => {
  more.hidden = !hasMore;
  empty.hidden = recordings.length > 0;
  const now = JSON.stringify(recordings);
  if (now === shown) return;
  shown = now;
  replace(rows, recordings.map(row));
};

const command = (name: string, action: "start" | "stop" | "split", words: string): Promise<void> =>
  attempt(`${words} ${name}`, () => ask(`streams/${name}/recording`, "POST", { action }));

const liveRow = (name: string, isRecorded: boolean): HTMLLIElement => {
  const made = element("li");
  const act = (words: string, action: "start" | "stop" | "split", past: string): HTMLButtonElement =>
    button(words, name, () => void command(name, action, past));
  const buttons = isRecorded
    ? [act("Stop recording", "stop", "Stopped recording"), act("Split", "split", "Split the recording of")]
    : [act("Record", "start", "Recording")];
  made.append(element("span", name), element("span", isRecorded ? "being recorded" : "not recorded"), ...buttons);
  return made;
};

const showOnAir = (names: string[], recorded: Set<string>): void => {
  nothingOnAir.hidden = names.length > 0;
  const now = JSON.stringify(names.map((name) => [name, recorded.has(name)]));
  if (now === shownOnAir) return;
  shownOnAir = now;
  replace(onAir, names.map((name) => liveRow(name, recorded.has(name))));
  byId("known").replaceChildren(...names.map((name) => Object.assign(element("option"), { value: name })));
};

const look = async (): Promise<void> => {
  if (document.hidden) return;
  try {
    const recordings: Recording[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < pages; page += 1) {
      const answer = await ask(query(cursor));
      const found = await answer.json() as Page;
      recordings.push(...found.recordings);
      cursor = found.cursor;
      if (cursor === null) break;
    }
    show(recordings, cursor !== null);
    const { streams } = await (await ask("streams")).json() as { streams: { name: string }[] };
    const open = await (await ask("recordings?state=open&order=newest")).json() as Page;
    showOnAir(streams.map(({ name }) => name).sort(), new Set(open.recordings.map((one) => one.stream)));
    if (said.classList.contains("error") && said.dataset["from"] === "look") tell("");
  } catch (error) {
    said.dataset["from"] = "look";
    tell(error instanceof Error ? error.message : String(error), true);
    return;
  }
  delete said.dataset["from"];
};

form.addEventListener("submit", (event) => {
  event.preventDefault();
  pages = 1;
  void look();
});
for (const field of [stream, from, to, state]) {
  field.addEventListener("change", () => {
    pages = 1;
    void look();
  });
}
more.addEventListener("click", () => {
  pages += 1;
  void look();
});
for (const choice of ["keep", "delete"]) {
  byId(choice).addEventListener("click", () => {
    dialog.close();
    answer(choice === "delete");
  });
}
dialog.addEventListener("cancel", () => answer(false));
video.addEventListener("error", () => {
  if (video.hasAttribute("src")) tell(`This browser cannot play ${played ?? "it"}. It can be downloaded.`, true);
});
document.addEventListener("visibilitychange", () => void look());
setInterval(() => void look(), REFRESH_MS);
void look();
