// Made from crates/web/scripts/src by `npm run build`; do not edit.
"use strict";
(() => {
  // src/dom.ts
  var byId = (id) => {
    const found = document.getElementById(id);
    if (!found) throw new Error(`the page has no element #${id}`);
    return found;
  };
  var element = (name, text = "") => Object.assign(document.createElement(name), { textContent: text });
  var say = (place, text) => {
    if (place.textContent !== text) place.textContent = text;
  };

  // src/words.ts
  var MINUTE_S = 60;
  var HOUR_S = 60 * MINUTE_S;
  var DAY_S = 24 * HOUR_S;
  var lengthOf = (length) => {
    const whole = Math.round(length);
    if (whole < MINUTE_S) return `${whole} s`;
    const [hours, minutes] = [Math.floor(whole / HOUR_S), Math.floor(whole % HOUR_S / MINUTE_S)];
    return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`;
  };
  var sizeOf = (bytes) => {
    const units = ["kB", "MB", "GB", "TB"];
    let size = bytes / 1e3;
    let unit = 0;
    while (size >= 999.5 && unit < units.length - 1) {
      size /= 1e3;
      unit += 1;
    }
    return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit] ?? ""}`;
  };

  // src/operator.ts
  var REFRESH_MS = 5e3;
  var API = "api/v1/";
  var STATES = {
    open: "being recorded",
    closed: "being completed",
    finalised: "complete"
  };
  var form = byId("filter");
  var stream = byId("stream");
  var from = byId("from");
  var to = byId("to");
  var state = byId("state");
  var said = byId("said");
  var rows = byId("rows");
  var empty = byId("empty");
  var more = byId("more");
  var onAir = byId("on-air");
  var nothingOnAir = byId("nothing-on-air");
  var video = byId("past");
  var dialog = byId("confirm");
  var pages = 1;
  var shown = "";
  var shownOnAir = "";
  var played = null;
  var timeOf = (started) => new Date(started).toLocaleString(void 0, { dateStyle: "medium", timeStyle: "medium" });
  var ask = async (path, method = "GET", body) => {
    const options = { method };
    if (body !== void 0) {
      options.body = JSON.stringify(body);
      options.headers = { "content-type": "application/json" };
    }
    const answer2 = await fetch(new URL(API + path, document.baseURI), options);
    if (answer2.ok) return answer2;
    const told = await answer2.text();
    let words = told.trim();
    try {
      words = JSON.parse(told).error ?? words;
    } catch {
    }
    throw new Error(words || `the server answered ${answer2.status}`);
  };
  var tell = (words, isError = false) => {
    said.classList.toggle("error", isError);
    say(said, words);
  };
  var attempt = async (words, what) => {
    try {
      await what();
      tell(words);
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error), true);
    }
    await look();
  };
  var query = (cursor) => {
    const wanted = new URLSearchParams({ order: "newest" });
    const set = (name, value) => {
      if (value) wanted.set(name, value);
    };
    const time = (input) => input.value ? new Date(input.value).toISOString().replace(/\.\d+Z$/, "Z") : "";
    set("stream", stream.value.trim());
    set("from", time(from));
    set("to", time(to));
    set("state", state.value);
    set("cursor", cursor ?? "");
    return `recordings?${wanted}`;
  };
  var button = (words, label, what) => {
    const made = Object.assign(element("button", words), { type: "button" });
    made.setAttribute("aria-label", `${words} ${label}`);
    made.dataset["of"] = label;
    made.addEventListener("click", what);
    return made;
  };
  var addressOf = async ({ id, path }) => {
    if (path !== null) return new URL(`${API}recordings/${id}/file`, document.baseURI).href;
    const answer2 = await ask(`recordings/${id}/link`);
    return (await answer2.json()).url;
  };
  var play = async (one, label) => {
    await attempt(`Playing ${label}`, async () => {
      played = label;
      video.hidden = false;
      video.setAttribute("aria-label", label);
      video.src = await addressOf(one);
      video.scrollIntoView({ block: "nearest" });
      await video.play().catch(() => void 0);
    });
  };
  var download = async (one, label) => {
    await attempt(`Downloading ${label}`, async () => {
      const address = await addressOf(one);
      const link = Object.assign(element("a"), { href: one.path === null ? address : `${address}?download=1` });
      link.click();
    });
  };
  var answer = () => void 0;
  var confirmed = (question) => new Promise((resolve) => {
    say(byId("question"), question);
    answer = resolve;
    dialog.showModal();
  });
  var remove = async (one, label) => {
    const copy = one.uploaded ? " Its copy in object storage is deleted as well." : "";
    if (!await confirmed(`Delete ${label}?${copy} This cannot be undone.`)) return;
    await attempt(`Deleted ${label}`, () => ask(`recordings/${one.id}`, "DELETE"));
  };
  var pin = (one, label) => attempt(
    one.pinned ? `Unpinned ${label}` : `Pinned ${label}`,
    () => ask(`recordings/${one.id}`, "PATCH", { pinned: !one.pinned })
  );
  var copyOf = ({ uploaded, path, location }) => {
    const words = uploaded ? path === null ? "uploaded, file gone" : "uploaded" : "no copy";
    const cell = element("td", words);
    if (location) cell.title = location;
    return cell;
  };
  var row = (one) => {
    const label = `${one.stream}, ${timeOf(one.started)}`;
    const made = element("tr");
    const name = Object.assign(element("th", one.stream), { scope: "row" });
    const actions = element("td");
    actions.className = "actions";
    actions.append(
      button("Play", label, () => void play(one, label)),
      button("Download", label, () => void download(one, label))
    );
    if (one.path !== null) {
      actions.append(button(one.pinned ? "Unpin" : "Pin", label, () => void pin(one, label)));
    }
    if (one.state !== "open") actions.append(button("Delete", label, () => void remove(one, label)));
    const kept = one.pinned ? `${STATES[one.state]}, pinned` : STATES[one.state];
    made.append(
      name,
      element("td", timeOf(one.started)),
      element("td", lengthOf(one.seconds)),
      element("td", sizeOf(one.bytes)),
      element("td", kept),
      copyOf(one),
      actions
    );
    return made;
  };
  var placeOf = (one) => [...one.parentElement?.children ?? []].indexOf(one);
  var replace = (list, children) => {
    const focused = document.activeElement;
    const before = focused instanceof HTMLElement && list.contains(focused) ? focused : null;
    const place = before ? placeOf(before) : -1;
    list.replaceChildren(...children);
    if (!before) return;
    const same = [...list.querySelectorAll("button")].filter((one) => one.dataset["of"] === before.dataset["of"]);
    (same.find((one) => placeOf(one) === place) ?? same[0] ?? said).focus();
  };
  var show = (recordings, hasMore) => {
    more.hidden = !hasMore;
    empty.hidden = recordings.length > 0;
    const now = JSON.stringify(recordings);
    if (now === shown) return;
    shown = now;
    replace(rows, recordings.map(row));
  };
  var command = (name, action, words) => attempt(`${words} ${name}`, () => ask(`streams/${name}/recording`, "POST", { action }));
  var liveRow = (name, isRecorded) => {
    const made = element("li");
    const act = (words, action, past) => button(words, name, () => void command(name, action, past));
    const buttons = isRecorded ? [act("Stop recording", "stop", "Stopped recording"), act("Split", "split", "Split the recording of")] : [act("Record", "start", "Recording")];
    made.append(element("span", name), element("span", isRecorded ? "being recorded" : "not recorded"), ...buttons);
    return made;
  };
  var showOnAir = (names, recorded) => {
    nothingOnAir.hidden = names.length > 0;
    const now = JSON.stringify(names.map((name) => [name, recorded.has(name)]));
    if (now === shownOnAir) return;
    shownOnAir = now;
    replace(onAir, names.map((name) => liveRow(name, recorded.has(name))));
    byId("known").replaceChildren(...names.map((name) => Object.assign(element("option"), { value: name })));
  };
  var look = async () => {
    if (document.hidden) return;
    try {
      const recordings = [];
      let cursor = null;
      for (let page = 0; page < pages; page += 1) {
        const answer2 = await ask(query(cursor));
        const found = await answer2.json();
        recordings.push(...found.recordings);
        cursor = found.cursor;
        if (cursor === null) break;
      }
      show(recordings, cursor !== null);
      const { streams } = await (await ask("streams")).json();
      const open = await (await ask("recordings?state=open&order=newest")).json();
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
})();
