// Made from crates/web/scripts/src by `npm run build`; do not edit.
"use strict";
(() => {
  // src/dom.ts
  var byId = (id) => {
    const found = document.getElementById(id);
    if (!found) throw new Error(`the page has no element #${id}`);
    return found;
  };
  var say = (place, text) => {
    if (place.textContent !== text) place.textContent = text;
  };

  // src/words.ts
  var listenersOf = (count2) => count2 === 1 ? "1 listener" : `${count2} listeners`;
  var MINUTE_S = 60;
  var HOUR_S = 60 * MINUTE_S;
  var DAY_S = 24 * HOUR_S;
  var ageOf = (age) => {
    const minutes = Math.floor(age / MINUTE_S);
    const [days, hours] = [Math.floor(age / DAY_S), Math.floor(age / HOUR_S)];
    if (days > 1) return `live for ${days} days`;
    if (days === 1) return "live for a day";
    if (hours > 0) return `live for ${hours} h ${minutes % 60} min`;
    return minutes > 0 ? `live for ${minutes} min` : "just went live";
  };

  // src/list.ts
  var REFRESH_MS = 5e3;
  var STILL_MS = 15e3;
  var MARGIN = "300px";
  var part = (node, selector) => {
    const found = node.querySelector(selector);
    if (!found) throw new Error(`a card has no ${selector}`);
    return found;
  };
  var Card = class _Card {
    constructor(node) {
      this.node = node;
      this.stillAt = 0;
      this.isSeen = false;
      this.hear(this.video());
    }
    /** A card without a text, from the page's template. */
    static blank() {
      const { content } = byId("card");
      return new _Card(document.importNode(part(content, ".card"), true));
    }
    show(stream, now) {
      const { node } = this;
      const link = part(node, "a");
      const address = `./${stream.name}/`;
      if (link.getAttribute("href") !== address) link.setAttribute("href", address);
      node.dataset["name"] = stream.name;
      node.dataset["kind"] = stream.kinds.includes("video") ? "picture" : "sound";
      say(link, stream.display_name);
      say(part(node, ".title"), stream.title ?? stream.description ?? "");
      say(part(node, ".listeners"), listenersOf(stream.listeners));
      const time = part(node, "time");
      time.dateTime = stream.since;
      say(time, ageOf((now - Date.parse(stream.since)) / 1e3));
      say(part(node, ".format"), stream.format);
      node.dataset["still"] = stream.still === null ? "" : `${address}still.mp4`;
      this.refresh();
    }
    /** The card has come into sight, or has left it. */
    see(isSeen) {
      this.isSeen = isSeen;
      if (isSeen) this.refresh();
      else this.video().preload = "none";
    }
    /** Fetches a newer still, which replaces the one shown when it is there. */
    refresh() {
      const address = this.node.dataset["still"] ?? "";
      const video = this.video();
      if (!address) video.hidden = true;
      const isFresh = performance.now() - this.stillAt < STILL_MS && this.stillAt > 0;
      if (!address || !this.isSeen || isFresh) return;
      this.stillAt = performance.now();
      const next = video.cloneNode();
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
    hear(video) {
      video.addEventListener("error", () => {
        video.hidden = true;
      });
    }
    video() {
      return part(this.node, "video");
    }
  };
  var unload = (video) => {
    video.removeAttribute("src");
    video.load();
  };
  var list = byId("streams");
  var search = byId("q");
  var form = byId("search");
  var count = byId("count");
  var cards = /* @__PURE__ */ new Map();
  var streams = null;
  var observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      cards.get(target.dataset["name"] ?? "")?.see(isIntersecting);
    }
  }, { rootMargin: MARGIN });
  var wanted = () => search.value.toLowerCase().split(/\s+/).filter(Boolean);
  var hasAll = (stream, words) => {
    const texts = [stream.name, stream.display_name, stream.description ?? "", stream.title ?? ""];
    const lower = texts.map((text) => text.toLowerCase());
    return words.every((word) => lower.some((text) => text.includes(word)));
  };
  var counted = (shown, all) => {
    if (shown !== all) return `${shown} of ${all} streams`;
    return all === 1 ? "1 stream" : `${all} streams`;
  };
  var cardOf = ({ name }) => {
    const known = cards.get(name);
    if (known) return known;
    const card = Card.blank();
    card.node.dataset["name"] = name;
    cards.set(name, card);
    observer.observe(card.node);
    return card;
  };
  var show = () => {
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
      if (list.children[at] !== card.node) list.insertBefore(card.node, list.children[at] ?? null);
    });
    const isEmpty = streams.length === 0;
    form.hidden = isEmpty && words.length === 0;
    count.hidden = isEmpty;
    say(count, counted(shown.length, streams.length));
    byId("empty").hidden = !isEmpty;
    byId("no-match").hidden = isEmpty || shown.length > 0;
  };
  var refresh = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch("./api/v1/public/streams");
      const body = await answer.json();
      if (!answer.ok || !Array.isArray(body.streams)) return;
      streams = body.streams;
      show();
    } catch {
    }
  };
  for (const node of list.querySelectorAll(".card")) {
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
})();
