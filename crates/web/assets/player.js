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
  var SVG = "http://www.w3.org/2000/svg";
  var drawing = (path, units) => {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${units} ${units}`);
    const shape = document.createElementNS(SVG, "path");
    shape.setAttribute("d", path);
    svg.append(shape);
    return svg;
  };

  // src/qr.ts
  var CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26];
  var BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5];
  var CODEWORDS = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346];
  var ALIGNMENT = [[], [18], [22], [26], [30], [34], [22, 38], [24, 42], [26, 46], [28, 50]];
  var VERSION_MAX = 10;
  var LONG_COUNT_VERSION = 10;
  var BYTES = 4;
  var LEVEL_M = 0;
  var FORMAT_POLYNOMIAL = 1335;
  var FORMAT_MASK = 21522;
  var VERSION_POLYNOMIAL = 7973;
  var FIELD = 285;
  var MASKS = [
    (x, y) => (x + y) % 2 === 0,
    (_, y) => y % 2 === 0,
    (x) => x % 3 === 0,
    (x, y) => (x + y) % 3 === 0,
    (x, y) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
    (x, y) => x * y % 2 + x * y % 3 === 0,
    (x, y) => (x * y % 2 + x * y % 3) % 2 === 0,
    (x, y) => ((x + y) % 2 + x * y % 3) % 2 === 0
  ];
  var of = (table, version) => table[version - 1];
  var encode = (text) => {
    const bytes = new TextEncoder().encode(text);
    for (let version = 1; version <= VERSION_MAX; version += 1) {
      const data = dataOf(bytes, version);
      if (data) return draw(version, interleave(data, version));
    }
    return null;
  };
  var dataOf = (bytes, version) => {
    const capacity = of(CODEWORDS, version) - of(CORRECTION, version) * of(BLOCKS, version);
    const bits = [];
    const put = (value, count) => {
      for (let at = count - 1; at >= 0; at -= 1) bits.push(value >> at & 1);
    };
    put(BYTES, 4);
    put(bytes.length, version < LONG_COUNT_VERSION ? 8 : 16);
    for (const byte of bytes) put(byte, 8);
    if (bits.length > capacity * 8) return null;
    put(0, Math.min(4, capacity * 8 - bits.length));
    while (bits.length % 8 !== 0) bits.push(0);
    const data = [];
    for (let at = 0; at < bits.length; at += 8) {
      data.push(bits.slice(at, at + 8).reduce((byte, bit) => byte << 1 | bit, 0));
    }
    for (let pad = 236; data.length < capacity; pad ^= 236 ^ 17) data.push(pad);
    return data;
  };
  var times = (one, other) => {
    let product = 0;
    for (let bit = 7; bit >= 0; bit -= 1) {
      product = product << 1 ^ (product >> 7) * FIELD;
      product ^= (other >> bit & 1) * one;
    }
    return product;
  };
  var generator = (degree) => {
    const out = Array(degree).fill(0);
    out[degree - 1] = 1;
    let root = 1;
    for (let factor = 0; factor < degree; factor += 1) {
      for (let at = 0; at < degree; at += 1) {
        out[at] = times(out[at] ?? 0, root) ^ (out[at + 1] ?? 0);
      }
      root = times(root, 2);
    }
    return out;
  };
  var remainder = (data, divisor) => {
    const out = divisor.map(() => 0);
    for (const byte of data) {
      const factor = byte ^ (out.shift() ?? 0);
      out.push(0);
      divisor.forEach((coefficient, at) => {
        out[at] = (out[at] ?? 0) ^ times(coefficient, factor);
      });
    }
    return out;
  };
  var interleave = (data, version) => {
    const [count, degree] = [of(BLOCKS, version), of(CORRECTION, version)];
    const shortLength = Math.floor(data.length / count);
    const shortCount = count - data.length % count;
    const divisor = generator(degree);
    const blocks = [];
    for (let at = 0, block = 0; block < count; block += 1) {
      const length = shortLength + Number(block >= shortCount);
      blocks.push(data.slice(at, at + length));
      at += length;
    }
    const corrections = blocks.map((block) => remainder(block, divisor));
    const out = [];
    for (const [parts, length] of [[blocks, shortLength + 1], [corrections, degree]]) {
      for (let at = 0; at < length; at += 1) {
        for (const part of parts) {
          const codeword = part[at];
          if (codeword !== void 0) out.push(codeword);
        }
      }
    }
    return out;
  };
  var Canvas = class {
    constructor(version) {
      this.version = version;
      this.size = version * 4 + 17;
      const blank = () => Array.from({ length: this.size }, () => Array(this.size).fill(false));
      [this.modules, this.isFixed] = [blank(), blank()];
    }
    isDark(x, y) {
      return this.modules[y]?.[x] ?? false;
    }
    set(x, y, isDark) {
      const row = this.modules[y];
      if (row && x >= 0 && x < this.size) row[x] = isDark;
    }
    /** Sets a module of a pattern; what is outside is left out. */
    fix(x, y, isDark) {
      this.set(x, y, isDark);
      const row = this.isFixed[y];
      if (row && x >= 0 && x < this.size) row[x] = true;
    }
    patterns() {
      const { size } = this;
      for (let at = 0; at < size; at += 1) {
        this.fix(6, at, at % 2 === 0);
        this.fix(at, 6, at % 2 === 0);
      }
      for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) this.finder(x, y);
      const centres = [6, ...of(ALIGNMENT, this.version)];
      const last = centres[centres.length - 1];
      for (const x of centres) {
        for (const y of centres) {
          const isCorner = x === 6 && (y === 6 || y === last) || x === last && y === 6;
          if (!isCorner && this.version > 1) this.square(x, y, 2, (ring) => ring !== 1);
        }
      }
      this.format(0);
      this.versionInformation();
    }
    /** Fifteen bits, twice: the level and the mask, with their own correction. */
    format(mask) {
      const data = LEVEL_M << 3 | mask;
      const bits = (data << 10 | checked(data, 10, FORMAT_POLYNOMIAL)) ^ FORMAT_MASK;
      const bit = (at) => (bits >> at & 1) === 1;
      const { size } = this;
      for (let at = 0; at <= 5; at += 1) this.fix(8, at, bit(at));
      this.fix(8, 7, bit(6));
      this.fix(8, 8, bit(7));
      this.fix(7, 8, bit(8));
      for (let at = 9; at < 15; at += 1) this.fix(14 - at, 8, bit(at));
      for (let at = 0; at < 8; at += 1) this.fix(size - 1 - at, 8, bit(at));
      for (let at = 8; at < 15; at += 1) this.fix(8, size - 15 + at, bit(at));
      this.fix(8, size - 8, true);
    }
    /** Data in columns of two from the right, upwards and downwards in turn, around the timing column. */
    data(codewords) {
      let at = 0;
      for (let right = this.size - 1; right >= 1; right -= 2) {
        if (right === 6) right = 5;
        const isUp = (right + 1 & 2) === 0;
        for (let step = 0; step < this.size; step += 1) {
          const y = isUp ? this.size - 1 - step : step;
          for (const x of [right, right - 1]) {
            if (this.isFixed[y]?.[x]) continue;
            this.set(x, y, ((codewords[at >> 3] ?? 0) >> 7 - (at & 7) & 1) === 1);
            at += 1;
          }
        }
      }
    }
    /** Inverts the data where the mask says so; a second time undoes it. */
    mask(mask) {
      const inverts = MASKS[mask];
      this.modules.forEach((row, y) => row.forEach((isDark, x) => {
        if (!this.isFixed[y]?.[x] && inverts?.(x, y)) row[x] = !isDark;
      }));
    }
    /** How hard the symbol is to read: runs, squares, patterns like a finder's, and imbalance. */
    penalty() {
      const { size } = this;
      const finder = /(?=10111010000|00001011101)/g;
      let penalty = 0;
      let dark = 0;
      for (let one = 0; one < size; one += 1) {
        for (const isRow of [true, false]) {
          let line = "";
          for (let at = 0; at < size; at += 1) line += Number(isRow ? this.isDark(at, one) : this.isDark(one, at));
          for (const run of line.match(/0{5,}|1{5,}/g) ?? []) penalty += run.length - 2;
          penalty += 40 * (line.match(finder) ?? []).length;
          if (isRow) dark += line.split("1").length - 1;
        }
      }
      for (let y = 1; y < size; y += 1) {
        for (let x = 1; x < size; x += 1) {
          const isDark = this.isDark(x, y);
          const others = [this.isDark(x - 1, y), this.isDark(x, y - 1), this.isDark(x - 1, y - 1)];
          if (others.every((other) => other === isDark)) penalty += 3;
        }
      }
      return penalty + 10 * Math.floor(Math.abs(dark * 20 - size * size * 10) / (size * size));
    }
    finder(x, y) {
      this.square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
    }
    /** Rings around a centre. */
    square(x, y, radius, isDark) {
      for (let dy = -radius; dy <= radius; dy += 1) {
        for (let dx = -radius; dx <= radius; dx += 1) {
          const [column, row] = [x + dx, y + dy];
          const isInside = Math.min(column, row) >= 0 && Math.max(column, row) < this.size;
          if (isInside) this.fix(column, row, isDark(Math.max(Math.abs(dx), Math.abs(dy))));
        }
      }
    }
    versionInformation() {
      if (this.version < 7) return;
      const bits = this.version << 12 | checked(this.version, 12, VERSION_POLYNOMIAL);
      for (let at = 0; at < 18; at += 1) {
        const isDark = (bits >> at & 1) === 1;
        const [far, near] = [this.size - 11 + at % 3, Math.floor(at / 3)];
        this.fix(far, near, isDark);
        this.fix(near, far, isDark);
      }
    }
  };
  var checked = (value, bits, polynomial) => {
    let rest = value;
    for (let at = 0; at < bits; at += 1) rest = rest << 1 ^ (rest >> bits - 1) * polynomial;
    return rest;
  };
  var draw = (version, codewords) => {
    const canvas = new Canvas(version);
    canvas.patterns();
    canvas.data(codewords);
    let best = 0;
    let least = Infinity;
    for (let mask = 0; mask < MASKS.length; mask += 1) {
      canvas.format(mask);
      canvas.mask(mask);
      const penalty = canvas.penalty();
      if (penalty < least) [best, least] = [mask, penalty];
      canvas.mask(mask);
    }
    canvas.format(best);
    canvas.mask(best);
    return canvas.modules;
  };

  // src/sources/source.ts
  var Trouble = class extends Error {
    constructor(words2, isFinal) {
      super(words2);
      this.isFinal = isFinal;
    }
  };
  var HOLE_NEAR_S = 0.3;
  var HOLE_MARGIN_S = 0.05;
  var ElementSource = class {
    constructor(task) {
      this.task = task;
      this.isClosed = false;
      /**
       * Jumps over what is missing where playback is. The tracks of one publisher end at different times, so that before the
       * next one's some of a track is missing: Chromium plays the sound on, and holds the picture for 3 s.
       */
      this.skipHole = () => {
        const { buffered, currentTime, played, seeking } = this.element;
        if (seeking || played.length === 0) return;
        for (let next = 1; next < buffered.length; next += 1) {
          const start = buffered.start(next);
          if (currentTime < start && currentTime > buffered.end(next - 1) - HOLE_NEAR_S) {
            this.element.currentTime = start + HOLE_MARGIN_S;
            return;
          }
        }
      };
      this.element = task.element;
    }
    close() {
      this.isClosed = true;
      this.element.playbackRate = 1;
      this.element.srcObject = null;
      this.element.removeAttribute("src");
      this.element.load();
    }
    received() {
      return this.end() ?? 0;
    }
    played() {
      return this.element.currentTime;
    }
    /** Over TCP nothing is lost. */
    isStuck() {
      return false;
    }
    delay() {
      const end = this.end();
      return end === null ? null : Math.max(0, end - this.element.currentTime);
    }
    lag() {
      return this.delay() ?? 0;
    }
    catchUp() {
      return true;
    }
    toLive() {
      return false;
    }
    /** What follows a body or a session has nothing to ask for. */
    revive() {
    }
    /** A source plays one rendition; another is played by another source. */
    levels() {
      const { rendition, isAutomatic } = this.task;
      const all = this.renditions();
      return { names: all.map(({ name }) => name), chosen: isAutomatic || !rendition ? -1 : all.indexOf(rendition) };
    }
    choose(level) {
      this.task.owner.chosen(this.renditions()[level]?.stream ?? null);
    }
    /** What is played, relative to the page. */
    path() {
      return this.task.rendition?.path ?? this.task.way.path;
    }
    /** Best last. */
    renditions() {
      return [...this.task.way.renditions].reverse();
    }
    /** The end of what is loaded; `null` before there is anything. */
    end() {
      const { buffered } = this.element;
      return buffered.length > 0 ? buffered.end(buffered.length - 1) : null;
    }
  };
  var library = (name, found) => {
    let loading = null;
    return () => {
      loading ?? (loading = new Promise((resolve, reject) => {
        const fail = () => {
          loading = null;
          reject(new Trouble("The server cannot be reached.", false));
        };
        const script = document.createElement("script");
        script.src = new URL(name, HERE).href;
        script.onload = () => {
          const library2 = found();
          if (library2) resolve(library2);
          else fail();
        };
        script.onerror = fail;
        document.head.append(script);
      }));
      return loading;
    };
  };
  var HERE = document.currentScript?.src ?? location.href;

  // src/words.ts
  var WORDS = {
    connecting: "Connecting.",
    playing: "Playing.",
    buffering: "Waiting for the stream.",
    paused: "Paused.",
    blocked: "Ready. Press Play.",
    reconnecting: "Reconnecting.",
    unreachable: "Reconnecting. The server cannot be reached.",
    away: "Waiting for the broadcaster. Playback continues by itself.",
    offline: "Not live. Waiting for the broadcaster.",
    failed: "This browser cannot play the stream. Use a player with an address from below."
  };
  var DELAY_STEP_S = 0.5;
  var DELAY_SAID_MS = 5e3;
  var SHORTEST_S = 0.1;
  var seconds = (delay, under = "under ") => {
    if (delay < SHORTEST_S) return `${under}${SHORTEST_S} s`;
    return `${delay.toFixed(delay < 10 ? 1 : 0)} s`;
  };
  var listenersOf = (count) => count === 1 ? "1 listener" : `${count} listeners`;
  var MINUTE_S = 60;
  var HOUR_S = 60 * MINUTE_S;
  var DAY_S = 24 * HOUR_S;
  var lengthOf = (length) => {
    const whole = Math.round(length);
    if (whole < MINUTE_S) return `${whole} s`;
    const [hours, minutes] = [Math.floor(whole / HOUR_S), Math.floor(whole % HOUR_S / MINUTE_S)];
    return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`;
  };
  var Words = class {
    constructor() {
      this.saidS = null;
      this.saidAt = 0;
    }
    /** The state at this time, in milliseconds of any clock. */
    of(playback2, now2) {
      if (playback2.state !== "playing") {
        this.saidS = null;
        return WORDS[playback2.state];
      }
      const delay = playback2.delay();
      if (delay === null) return WORDS.playing;
      const isNew = this.saidS === null || Math.abs(delay - this.saidS) >= DELAY_STEP_S && now2 - this.saidAt >= DELAY_SAID_MS;
      if (isNew) [this.saidS, this.saidAt] = [delay, now2];
      return `Playing, ${seconds(this.saidS ?? delay)} behind.`;
    }
  };

  // src/about.ts
  var QUIET = 4;
  var rowOf = ({ label, path }) => {
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
        getSelection()?.selectAllChildren(text);
      }
    });
    row.append(element("span", label), text, copy);
    return row;
  };
  var listAddresses = (addresses) => {
    const rows = addresses.map(rowOf);
    byId("players").hidden = rows.length === 0;
    const list = byId("addresses");
    const urls = (nodes) => [...nodes].map((row) => row.querySelector("code")?.textContent).join();
    if (urls(list.children) !== urls(rows)) list.replaceChildren(...rows);
  };
  var showMetadata = ({ title, picture }) => {
    if (typeof MediaMetadata !== "function" || !navigator.mediaSession) return;
    const name = document.querySelector("h1")?.textContent ?? "";
    const icon = { src: new URL("icon.svg", HERE).href, type: "image/svg+xml", sizes: "any" };
    const artwork = picture ? [{ src: picture }] : [icon];
    navigator.mediaSession.metadata = new MediaMetadata({ title: title || name, artist: name, artwork });
  };
  var showCover = (picture) => {
    const cover = byId("cover");
    if ((cover.dataset["of"] ?? "") === (picture ?? "")) return;
    cover.dataset["of"] = picture ?? "";
    cover.hidden = true;
    cover.onload = () => {
      cover.hidden = false;
    };
    cover.referrerPolicy = "no-referrer";
    if (picture) cover.src = picture;
    else cover.removeAttribute("src");
  };
  var showOffer = (offer) => {
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
  var offerCode = () => {
    const share = byId("share");
    const address = `${location.origin}${location.pathname}`;
    const rows = encode(address);
    share.hidden = rows === null;
    if (!rows) return;
    share.addEventListener("toggle", () => {
      const place = byId("qr");
      if (!share.open || place.firstChild) return;
      const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => isDark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : []));
      const svg = drawing(path.join(""), rows.length + 2 * QUIET);
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", `QR code of ${address}`);
      place.replaceChildren(svg);
    });
  };

  // src/browser.ts
  var thisBrowser = {
    appends: (type) => {
      const sources = globalThis;
      const source = sources.ManagedMediaSource ?? sources.MediaSource;
      return Boolean(source?.isTypeSupported(type));
    },
    plays: (type) => document.createElement("video").canPlayType(type) !== "",
    receives: (type) => {
      if (typeof RTCPeerConnection !== "function") return false;
      const kind = type.startsWith("video/") ? "video" : "audio";
      const known = globalThis.RTCRtpReceiver?.getCapabilities?.(kind)?.codecs;
      return !known || known.some((codec) => codec.mimeType.toLowerCase() === type);
    }
  };

  // src/icons.ts
  var SPEAKER = "M3 9h4l5-5v16l-5-5H3z";
  var ICONS = {
    play: "M7 4l13 8-13 8z",
    pause: "M6 4h4v16H6zM14 4h4v16h-4z",
    sound: `${SPEAKER}M15 9h2v6h-2zM19 6h2v12h-2z`,
    muted: `${SPEAKER}M16.4 8L22 13.6 20.6 15 15 9.4zM20.6 8L22 9.4 16.4 15 15 13.6z`,
    pip: "M2 4h20v16H2zM4 6v12h16V6zM12 11h6v5h-6z",
    cast: "M2 4h20v13h-4v-2h2V6H4v9h2v2H2zM12 13l6 7H6z",
    full: "M3 3h7v2H5v5H3zM14 3h7v7h-2V5h-5zM3 14h2v5h5v2H3zM19 14h2v7h-7v-2h5z",
    window: "M8 3h2v7H3V8h5zM14 3h2v5h5v2h-7zM3 14h7v7H8v-5H3zM14 14h7v2h-5v5h-2z"
  };

  // src/cast.ts
  var NAME = "Play on another device";
  var offerDevices = (elements, media) => {
    const button = byId("cast");
    button.replaceChildren(drawing(ICONS.cast, 24));
    button.title = NAME;
    button.setAttribute("aria-label", NAME);
    const devices = /* @__PURE__ */ new Set();
    const show2 = (one, isThere2) => {
      if (isThere2) devices.add(one);
      else devices.delete(one);
      button.hidden = devices.size === 0;
    };
    for (const one of elements) {
      if ("webkitShowPlaybackTargetPicker" in one) {
        one.addEventListener("webkitplaybacktargetavailabilitychanged", (event) => {
          show2(one, event.availability === "available");
        });
      } else {
        one.remote?.watchAvailability((isThere2) => show2(one, isThere2)).catch(() => {
        });
      }
    }
    button.addEventListener("click", () => {
      const one = media();
      if (one.webkitShowPlaybackTargetPicker) one.webkitShowPlaybackTargetPicker();
      else one.remote?.prompt().catch(() => {
      });
    });
  };

  // src/settings.ts
  var WAY_KEY = "carillon-way";
  var VOLUME_KEY = "carillon-volume";
  var WAYS = ["webrtc", "flv", "hls", "native", "http"];
  var LIVE = "#live";
  var remembered = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };
  var remember = (key, value) => {
    try {
      localStorage.setItem(key, value);
    } catch {
    }
  };
  var wayOf = (text) => WAYS.find((way) => way === text) ?? null;
  var shareOf = (text) => {
    const percent = Number(text || NaN);
    return percent >= 0 && percent <= 100 ? percent / 100 : null;
  };
  var isOn = (text) => text === "1" || text === "true" || text === "";
  var wantsLive = () => location.hash === LIVE;
  var read = () => {
    const query = new URLSearchParams(location.search);
    const isOff = (text) => text === "0" || text === "false";
    return {
      isEmbedded: isOn(query.get("embed")),
      isMuted: isOn(query.get("muted")),
      isBare: isOff(query.get("controls")),
      isHeld: isOff(query.get("autoplay")),
      volume: shareOf(query.get("volume")) ?? shareOf(remembered(VOLUME_KEY)) ?? 1,
      way: wantsLive() ? "webrtc" : wayOf(query.get("way") ?? remembered(WAY_KEY))
    };
  };
  var rememberWay = (way) => remember(WAY_KEY, way ?? "");
  var rememberVolume = (volume) => remember(VOLUME_KEY, String(Math.round(volume * 100)));

  // src/controls.ts
  var BEHIND_S = 5;
  var IDLE_MS = 3e3;
  var VOLUME_STEP = 0.05;
  var SEEK_S = 5;
  var AUTOMATIC = "auto";
  var ICON_UNITS = 24;
  var sign = (button, icon, name) => {
    if (button.dataset["icon"] !== icon) {
      button.dataset["icon"] = icon;
      button.replaceChildren(drawing(ICONS[icon], ICON_UNITS));
    }
    if (button.title === name) return;
    button.title = name;
    button.setAttribute("aria-label", name);
  };
  var fill = (select, rows, chosen) => {
    const shown = [...select.options].map(({ value, text }) => [value, text]);
    if (JSON.stringify(shown) !== JSON.stringify(rows)) {
      select.replaceChildren(...rows.map(([value, text]) => Object.assign(element("option", text), { value })));
    }
    if (select.value !== chosen) select.value = chosen;
  };
  var buttonOf = (id) => byId(id);
  var selectOf = (id) => byId(id);
  var Controls = class {
    constructor(playback2, stage2) {
      this.playback = playback2;
      this.stage = stage2;
      this.player = byId("player");
      this.bar = byId("controls");
      this.playButton = buttonOf("play");
      this.muteButton = buttonOf("mute");
      this.soundButton = buttonOf("sound");
      this.startButton = buttonOf("start");
      this.volume = byId("volume");
      this.delay = byId("delay");
      this.delayFigure = element("span");
      this.goLiveButton = buttonOf("go-live");
      this.quality = selectOf("quality");
      this.protocol = selectOf("protocol");
      this.pipButton = buttonOf("pip");
      this.fullButton = buttonOf("full-screen");
      const behind = Object.assign(element("span", " behind"), { className: "wide" });
      this.delay.replaceChildren(this.delayFigure, behind);
      this.hearButtons();
      this.hearChoices();
      this.hearPointer();
      document.addEventListener("keydown", (event) => this.key(event));
      document.addEventListener("fullscreenchange", () => this.show());
    }
    /** Writes what is going on. */
    show() {
      const { playback: playback2, stage: stage2 } = this;
      const kind = this.kind();
      this.player.hidden = kind === null;
      if (kind) this.player.dataset["kind"] = kind;
      stage2.video.hidden = kind !== "picture";
      stage2.audio.hidden = kind !== "sound";
      this.bar.hidden = kind === null;
      this.player.dataset["state"] = playback2.state;
      this.player.dataset["way"] = playback2.way?.name ?? "";
      sign(this.playButton, this.isPaused() ? "play" : "pause", this.isPaused() ? "Play" : "Pause");
      const media = this.media();
      const isSilent = media.muted || media.volume === 0;
      sign(this.muteButton, isSilent ? "muted" : "sound", isSilent ? "Sound on" : "Mute");
      this.volume.value = String(Math.round((isSilent ? 0 : media.volume) * 100));
      this.soundButton.hidden = !(playback2.isSilenced && playback2.way?.sound && media.muted);
      this.startButton.hidden = !(kind === "picture" && playback2.state === "blocked");
      sign(this.startButton, "play", "Play");
      this.goLiveButton.hidden = playback2.lag() < BEHIND_S;
      const delay = playback2.delay();
      this.delay.hidden = delay === null || !this.goLiveButton.hidden;
      say(this.delayFigure, delay === null ? "" : seconds(delay, "<"));
      this.showChoices();
      this.showWindows(kind === "picture");
    }
    /** The volume of both elements, 0 to 1. */
    setVolume(volume) {
      for (const media of [this.stage.video, this.stage.audio]) {
        media.volume = Math.min(1, Math.max(0, volume));
      }
    }
    setMuted(isMuted) {
      for (const media of [this.stage.video, this.stage.audio]) media.muted = isMuted;
    }
    /** Plays if it does not, and the reverse. */
    toggle() {
      if (this.isPaused()) this.playback.play();
      else this.playback.pause();
    }
    isPaused() {
      return ["paused", "blocked"].includes(this.playback.state);
    }
    /** The element that plays, or would. */
    media() {
      return this.playback.element ?? (this.stage.video.hidden ? this.stage.audio : this.stage.video);
    }
    /** What is shown; while nothing plays, what was, or what the stream has. */
    kind() {
      const { state, way, offer } = this.playback;
      if (state === "failed") return null;
      if (way) return way.picture ? "picture" : "sound";
      const last = this.player.dataset["kind"];
      if (!this.player.hidden && (last === "picture" || last === "sound")) return last;
      if (offer.tracks.some((track) => track.kind === "video")) return "picture";
      return offer.addresses.length > 0 ? "sound" : null;
    }
    showChoices() {
      const { playback: playback2 } = this;
      const [best, ...others] = playback2.ways();
      const ways = best ? [best, ...others.filter(({ picture }) => picture === best.picture)] : [];
      ways.sort((one, other) => one.label.localeCompare(other.label));
      const wish = ways.find(({ name }) => name === playback2.wished())?.name;
      const now2 = playback2.way && !wish ? `Auto: ${playback2.way.label}` : "Auto";
      fill(
        this.protocol,
        [[AUTOMATIC, now2], ...ways.map(({ name, label }) => [name, label])],
        wish ?? AUTOMATIC
      );
      this.protocol.hidden = ways.length < 2;
      const { names, chosen } = playback2.levels();
      const levels = names.map((name, at) => [String(at), name]);
      fill(this.quality, [["-1", "Auto quality"], ...levels.reverse()], String(chosen));
      this.quality.hidden = names.length === 0;
    }
    showWindows(hasPicture) {
      const { video } = this.stage;
      this.pipButton.hidden = !hasPicture || !document.pictureInPictureEnabled || video.disablePictureInPicture;
      sign(this.pipButton, "pip", "Picture in picture");
      const canFill = document.fullscreenEnabled || "webkitEnterFullscreen" in video;
      this.fullButton.hidden = !hasPicture || !canFill;
      const isFull = document.fullscreenElement !== null;
      sign(this.fullButton, isFull ? "window" : "full", isFull ? "Leave full screen" : "Full screen");
    }
    hearButtons() {
      this.playButton.addEventListener("click", () => this.toggle());
      this.startButton.addEventListener("click", () => this.playback.play());
      this.muteButton.addEventListener("click", () => this.flipMuted());
      this.soundButton.addEventListener("click", () => this.setMuted(false));
      this.goLiveButton.addEventListener("click", () => this.playback.goLive());
      this.pipButton.addEventListener("click", () => void this.flipPip());
      this.fullButton.addEventListener("click", () => void this.flipFull());
    }
    hearChoices() {
      this.volume.addEventListener("input", () => {
        this.changeVolume(Number(this.volume.value) / 100);
      });
      this.protocol.addEventListener("change", () => {
        const { value } = this.protocol;
        const wish = value === AUTOMATIC ? null : value;
        rememberWay(wish);
        this.playback.choose(wish);
      });
      this.quality.addEventListener("change", () => {
        this.playback.chooseLevel(Number(this.quality.value));
      });
    }
    /** The controls are above the picture, and leave it while nothing moves. */
    hearPointer() {
      const { player } = this;
      const rest = () => {
        clearTimeout(this.idleTimer);
        const isUsed = this.bar.contains(document.activeElement) && this.bar.matches(":focus-within");
        if (!isUsed && !this.isPaused()) player.dataset["idle"] = "";
      };
      const stir = () => {
        clearTimeout(this.idleTimer);
        delete player.dataset["idle"];
        this.idleTimer = setTimeout(rest, IDLE_MS);
      };
      for (const name of ["pointermove", "pointerdown", "focusin"]) player.addEventListener(name, stir);
      player.addEventListener("mouseleave", rest);
      stir();
      let wasIdle = false;
      player.addEventListener("pointerdown", () => {
        wasIdle = "idle" in player.dataset;
      }, { capture: true });
      player.addEventListener("click", (event) => {
        const isTouch = event.pointerType === "touch";
        if (isTouch && wasIdle) event.stopPropagation();
        else if (event.target === this.stage.video && !isTouch) this.toggle();
      }, { capture: true });
      this.stage.video.addEventListener("dblclick", () => void this.flipFull());
    }
    key(event) {
      const isModified = event.ctrlKey || event.metaKey || event.altKey;
      const target = event.target instanceof Element ? event.target : null;
      if (isModified || event.defaultPrevented || target?.closest("select, textarea, input, #past")) return;
      if (event.key === " " && target?.closest("button, a, summary")) return;
      const act = this.keys()[event.key.toLowerCase()];
      if (!act || this.bar.hidden) return;
      event.preventDefault();
      act();
    }
    keys() {
      const louder = (by) => this.changeVolume(this.media().volume + by);
      return {
        " ": () => this.toggle(),
        k: () => this.toggle(),
        m: () => this.flipMuted(),
        f: () => void this.flipFull(),
        l: () => this.playback.goLive(),
        arrowup: () => louder(VOLUME_STEP),
        arrowdown: () => louder(-VOLUME_STEP),
        arrowleft: () => this.seek(-SEEK_S),
        arrowright: () => this.seek(SEEK_S)
      };
    }
    /** Moves within what is loaded. A WebRTC session has nothing but the present. */
    seek(by) {
      const media = this.media();
      const { buffered, currentTime } = media;
      if (media.srcObject || buffered.length === 0) return;
      const [first, last] = [buffered.start(0), buffered.end(buffered.length - 1)];
      if (by > 0 && currentTime + by > last - 1) this.playback.goLive();
      else media.currentTime = Math.min(last, Math.max(first, currentTime + by));
    }
    changeVolume(volume) {
      this.setVolume(volume);
      this.setMuted(volume <= 0);
      rememberVolume(this.media().volume);
    }
    flipMuted() {
      const media = this.media();
      if (media.volume === 0) this.changeVolume(1);
      else this.setMuted(!media.muted);
    }
    async flipPip() {
      try {
        if (document.pictureInPictureElement) await document.exitPictureInPicture();
        else await this.stage.video.requestPictureInPicture();
      } catch {
      }
    }
    async flipFull() {
      if (this.fullButton.hidden) return;
      try {
        if (document.fullscreenElement) await document.exitFullscreen();
        else if (document.fullscreenEnabled) await this.player.requestFullscreen();
        else this.stage.video.webkitEnterFullscreen?.();
      } catch {
      }
    }
  };

  // src/embed.ts
  var VERSION = 1;
  var Embedding = class {
    constructor(playback2, controls2) {
      this.playback = playback2;
      this.controls = controls2;
      this.last = "";
      if (parent === window) return;
      addEventListener("message", (event) => {
        if (event.source === parent) this.hear(event.data);
      });
    }
    /** Tells the embedding page what has changed. */
    show() {
      if (parent === window) return;
      const { playback: playback2, controls: controls2 } = this;
      const media = controls2.media();
      const delay = playback2.delay();
      const told = {
        carillon: VERSION,
        event: "state",
        state: playback2.state,
        way: playback2.way?.name ?? null,
        delay: delay === null ? null : Math.round(delay * 10) / 10,
        muted: media.muted,
        volume: Math.round(media.volume * 100) / 100,
        title: playback2.offer.title
      };
      const text = JSON.stringify(told);
      if (text === this.last) return;
      this.last = text;
      parent.postMessage(told, "*");
    }
    hear(message) {
      if (typeof message !== "object" || message === null) return;
      const { carillon, command, value } = message;
      if (carillon !== VERSION || typeof command !== "string") return;
      const { playback: playback2, controls: controls2 } = this;
      switch (command) {
        case "play":
          playback2.play();
          break;
        case "pause":
          playback2.pause();
          break;
        case "mute":
          controls2.setMuted(true);
          break;
        case "unmute":
          controls2.setMuted(false);
          break;
        case "live":
          playback2.goLive();
          break;
        case "volume":
          if (typeof value === "number" && value >= 0 && value <= 1) controls2.setVolume(value);
          break;
        case "state":
          this.last = "";
          this.show();
          break;
        default:
      }
    }
  };

  // src/meter.ts
  var FFT_SIZE = 256;
  var BARS = 48;
  var USED = 0.7;
  var GAP = 0.25;
  var LEVEL_MAX = 255;
  var Meter = class {
    constructor() {
      this.canvas = byId("meter");
      this.context = null;
      this.analyser = null;
      this.input = null;
      this.heard = null;
      this.of = null;
    }
    /** Shows the level of an element that plays sound alone; `null` ends it. */
    follow(media) {
      if (media === this.of) return;
      this.input?.disconnect();
      [this.of, this.input, this.heard] = [media, null, null];
      this.canvas.hidden = true;
      if (!media || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
      try {
        this.listen(media);
      } catch {
      }
    }
    listen(media) {
      const stream = streamOf(media);
      if (!stream || typeof AudioContext !== "function") return;
      this.context ?? (this.context = new AudioContext());
      if (this.context.state === "suspended") this.context.resume().catch(() => {
      });
      this.heard = stream;
      this.connect(media);
      stream.addEventListener("addtrack", () => this.connect(media));
    }
    connect(media) {
      const { context, heard } = this;
      if (!context || !heard || media !== this.of || this.input || heard.getAudioTracks().length === 0) return;
      this.analyser ?? (this.analyser = Object.assign(context.createAnalyser(), { fftSize: FFT_SIZE }));
      this.input = context.createMediaStreamSource(heard);
      this.input.connect(this.analyser);
      this.draw();
    }
    draw() {
      const { canvas, analyser, context, input } = this;
      const paper = canvas.getContext("2d");
      if (!paper || !analyser || !context) return;
      const levels = new Uint8Array(analyser.frequencyBinCount);
      const step = () => {
        if (input !== this.input || !this.of) return;
        requestAnimationFrame(step);
        canvas.hidden = context.state !== "running";
        if (canvas.hidden) return;
        analyser.getByteFrequencyData(levels);
        const { width, height } = canvas;
        const bar = width / BARS;
        paper.clearRect(0, 0, width, height);
        paper.fillStyle = getComputedStyle(canvas).color;
        for (let at = 0; at < BARS; at += 1) {
          const level = levels[Math.floor(at * levels.length * USED / BARS)] ?? 0;
          const tall = Math.max(2, height * level / LEVEL_MAX);
          paper.fillRect(at * bar, height - tall, bar * (1 - GAP), tall);
        }
      };
      step();
    }
  };
  var streamOf = (media) => {
    if (media.srcObject instanceof MediaStream) return media.srcObject;
    return media.captureStream?.() ?? media.mozCaptureStream?.() ?? null;
  };

  // src/offer.ts
  var IS_MULTIPLEXED = performance.getEntriesByType("navigation").some((entry) => /^h[23]/.test(entry.nextHopProtocol));
  var trackOf = (offer, kind) => offer.tracks.find((one) => one.kind === kind);
  var codecsOf = (offer) => JSON.stringify(offer.tracks.map(({ kind, codec }) => [kind, codec]));
  var CREDENTIALS = ["key", "token", "link", "jwt"];
  var NEEDS_KEY = "Listening needs a key or a link. Open this page with it, as in ?key=KEY.";
  var credentials = () => {
    const given = new URLSearchParams(location.search);
    const kept = new URLSearchParams();
    for (const name of CREDENTIALS) {
      const value = given.get(name);
      if (value) kept.set(name, value);
    }
    return kept.toString();
  };
  var admitted = (path) => {
    const query = credentials();
    return query && `${path}${path.includes("?") ? "&" : "?"}${query}` || path;
  };
  var completed = (offer) => {
    const isOut = offer.needs_key && !credentials();
    const withPath = (one) => ({ ...one, path: admitted(one.path) });
    const offered = (one) => ({
      ...one,
      addresses: one.addresses.map(withPath),
      webrtc: one.webrtc && withPath(one.webrtc)
    });
    const all = offered(offer);
    if (all.qualities) all.qualities = all.qualities.map(offered);
    return isOut ? { ...all, notes: [NEEDS_KEY, ...all.notes] } : all;
  };
  var delivered = () => completed(JSON.parse(byId("offer").textContent ?? ""));
  var ask = async (untilLive) => {
    try {
      const path = untilLive ? "info.json?live" : "info.json";
      const answer = await fetch(admitted(path), { cache: "no-store", signal: untilLive ?? null });
      const offer = await answer.json();
      return Array.isArray(offer.tracks) ? completed(offer) : null;
    } catch {
      return null;
    }
  };

  // src/attempts.ts
  var PATIENCE_MAX = 4;
  var FIRST_RETRY_MS = 1e3;
  var LAST_RETRY_MS = 15e3;
  var DECODER_FAILURES_MAX = 2;
  var Attempts = class {
    constructor() {
      /** The factor of all limits for a start. */
      this.patience = 1;
      /** Ways that do not work here, and those that were only too slow, each with the reason. */
      this.failed = /* @__PURE__ */ new Map();
      this.slow = /* @__PURE__ */ new Map();
      this.decoderFailures = 0;
      this.retryMs = FIRST_RETRY_MS;
    }
    /** Forgets everything: the stream or the wish is another. */
    clear() {
      this.failed.clear();
      this.slow.clear();
      this.patience = 1;
      this.retryMs = FIRST_RETRY_MS;
      this.decoderFailures = 0;
    }
    /** Those that are worth trying. */
    left(ways) {
      return ways.filter(({ name }) => !this.failed.has(name) && !this.slow.has(name));
    }
    fail(way, words2) {
      this.failed.set(way, words2);
    }
    tire(way, words2) {
      this.slow.set(way, words2);
    }
    /** Why a way was left; `undefined` if it was not. */
    reason(way) {
      return this.failed.get(way) ?? this.slow.get(way);
    }
    /** Gives slow ways another turn, with more time. False if there are none. */
    forgiveSlow() {
      if (this.slow.size === 0) return false;
      this.slow.clear();
      this.patience = Math.min(this.patience * 2, PATIENCE_MAX);
      return true;
    }
    /** A way plays. Others that were too slow stay so: the network that stops them is the same. */
    succeed(way) {
      this.slow.delete(way);
      this.retryMs = FIRST_RETRY_MS;
      this.patience = 1;
    }
    /** It has played for long. */
    settle() {
      this.decoderFailures = 0;
    }
    /** Whether the decoder may be given the same again. */
    mayDecodeAgain() {
      this.decoderFailures += 1;
      return this.decoderFailures < DECODER_FAILURES_MAX;
    }
    /** The publisher is back: what failed meanwhile says nothing about the next try. */
    hurry() {
      this.retryMs = FIRST_RETRY_MS;
    }
    /** The pause before the next try; it grows. */
    pauseMs() {
      const ms = this.retryMs;
      this.retryMs = Math.min(ms * 2, LAST_RETRY_MS);
      return ms;
    }
  };

  // src/live.ts
  var TARGET_S = 0.4;
  var MARGIN_S = 0.2;
  var SETTLED_S = 0.03;
  var EXACT_S = 0.01;
  var BURST_S = MARGIN_S / 2;
  var SMALL_DRIFT_S = 1.5;
  var SMALL_RATE = 1.05;
  var LARGE_RATE = 1.1;
  var JUMP_S = 4;
  var BEGIN_STEPS = 2;
  var BEGUN_STEPS = 5;
  var STALL_STEP_S = 0.4;
  var STALLS_MAX = 5;
  var CALM_STEPS = 60;
  var Governor = class {
    constructor() {
      this.settler = new Settler();
      this.stalls = 0;
      this.isLate = false;
      this.steps = 0;
      this.calm = 0;
    }
    /** The player ran dry, and plays on at its normal rate. */
    stalled() {
      this.stalls = Math.min(this.stalls + 1, STALLS_MAX);
      this.calm = 0;
      this.isLate = false;
      this.settler.forget();
    }
    /** The delay that is aimed at, in seconds. */
    target() {
      return TARGET_S + this.stalls * STALL_STEP_S;
    }
    /** For a player this many seconds behind live. */
    step(delay) {
      this.steps += 1;
      this.calm += 1;
      if (this.calm > CALM_STEPS && this.stalls > 0) [this.stalls, this.calm] = [this.stalls - 1, 0];
      const drift = delay - this.target();
      const isBeginning = this.steps <= BEGIN_STEPS;
      const isFar = drift > (isBeginning ? MARGIN_S : JUMP_S);
      this.isLate = !isFar && (drift >= MARGIN_S || this.isLate && drift > 0);
      if (isFar || isBeginning || this.isLate) this.settler.forget();
      if (isFar) return { rate: 1, jump: this.target() };
      if (this.isLate) return { rate: drift < SMALL_DRIFT_S ? SMALL_RATE : LARGE_RATE, jump: null };
      return { rate: isBeginning ? 1 : this.settler.rate(delay, this.target()), jump: null };
    }
  };
  var Settler = class {
    constructor() {
      /** Of steps at the normal rate. */
      this.delays = [];
      this.enough = BEGUN_STEPS;
      this.isSettled = false;
      /** The rate of so many steps that are left until the drift is made up. */
      this.settlingRate = 1;
      this.left = 0;
    }
    /** The delay changes by other means. */
    forget() {
      [this.delays, this.left, this.isSettled] = [[], 0, false];
    }
    rate(delay, target) {
      if (this.left === 0) this.look(delay, target);
      if (this.left === 0) return 1;
      this.left -= 1;
      return this.settlingRate;
    }
    look(delay, target) {
      const { delays } = this;
      delays.push(delay);
      if (delays.length < this.enough) return;
      const mean = delays.reduce((sum, one) => sum + one, 0) / delays.length;
      const isBursty = Math.max(...delays) - mean > BURST_S;
      const drift = mean > target ? mean - target : isBursty ? 0 : Math.min(0, mean - TARGET_S);
      if (Math.abs(drift) > (this.isSettled ? SETTLED_S : EXACT_S)) {
        this.left = Math.ceil(Math.abs(drift) / (SMALL_RATE - 1));
        this.settlingRate = 1 + drift / this.left;
      }
      [this.delays, this.enough, this.isSettled] = [[], CALM_STEPS, true];
    }
  };

  // src/sources/flv.ts
  var BEHIND_MAX_S = 40;
  var BEHIND_MIN_S = 20;
  var load = library("mpegts.js", () => globalThis.mpegts);
  var FlvSource = class extends ElementSource {
    constructor(task) {
      super(task);
      this.player = null;
      this.governor = new Governor();
      this.statistics = 0;
      this.hasPlayed = false;
      /** It also waits for its first media, and after each jump. */
      this.onWaiting = () => {
        if (!this.hasPlayed || this.element.seeking) return;
        this.governor.stalled();
        this.element.playbackRate = 1;
      };
      this.onPlaying = () => {
        this.hasPlayed = true;
        this.catchUp();
      };
    }
    async open() {
      const mpegts = await load();
      if (this.isClosed) return;
      mpegts.LoggingControl.applyConfig({ enableVerbose: false, enableDebug: false, enableInfo: false });
      if (!mpegts.getFeatureList().mseLivePlayback) {
        throw new Trouble("This browser cannot play a live stream from a script.", true);
      }
      const { way, owner } = this.task;
      const player = mpegts.createPlayer(
        {
          type: "flv",
          isLive: true,
          url: new URL(this.path(), document.baseURI).href,
          hasAudio: way.sound,
          hasVideo: way.picture
        },
        {
          isLive: true,
          lazyLoad: false,
          enableStashBuffer: false,
          // The governor does it, with a rate that is not heard.
          liveSync: false,
          liveBufferLatencyChasing: false,
          fixAudioTimestampGap: true,
          autoCleanupSourceBuffer: true,
          autoCleanupMaxBackwardDuration: BEHIND_MAX_S,
          autoCleanupMinBackwardDuration: BEHIND_MIN_S
        }
      );
      this.player = player;
      const listen = (event, act) => {
        player.on(event, (...all) => {
          if (!this.isClosed) act(...all);
        });
      };
      listen(mpegts.Events.ERROR, (type, detail) => this.fail(mpegts, String(type), String(detail)));
      listen(mpegts.Events.METADATA_ARRIVED, () => owner.described());
      listen(mpegts.Events.LOADING_COMPLETE, () => owner.lost());
      listen(mpegts.Events.STATISTICS_INFO, (report) => {
        this.skipHole();
        if (report.speed) this.statistics += 1;
      });
      this.element.addEventListener("waiting", this.onWaiting);
      this.element.addEventListener("timeupdate", this.skipHole);
      this.element.addEventListener("playing", this.onPlaying, { once: true });
      player.attachMediaElement(this.element);
      player.load();
    }
    close() {
      this.element.removeEventListener("waiting", this.onWaiting);
      this.element.removeEventListener("timeupdate", this.skipHole);
      this.element.removeEventListener("playing", this.onPlaying);
      this.isClosed = true;
      this.player?.destroy();
      super.close();
    }
    received() {
      return super.received() + this.statistics;
    }
    catchUp() {
      const delay = this.delay();
      if (delay === null) return true;
      const { rate, jump } = this.governor.step(delay);
      if (jump !== null) this.jump(jump);
      if (this.element.playbackRate !== rate) this.element.playbackRate = rate;
      return true;
    }
    toLive() {
      return this.jump(this.governor.target());
    }
    jump(delay) {
      const end = this.end();
      if (end === null) return false;
      if (end - this.element.currentTime > delay) this.element.currentTime = end - delay;
      return true;
    }
    fail({ ErrorTypes, ErrorDetails }, type, detail) {
      const { owner } = this.task;
      const foreign = [ErrorDetails.MEDIA_CODEC_UNSUPPORTED, ErrorDetails.MEDIA_FORMAT_UNSUPPORTED];
      if (foreign.includes(detail)) owner.fails("This browser does not decode what the publisher sends.");
      else if (type === ErrorTypes.MEDIA_ERROR) owner.undecoded();
      else owner.lost();
    }
  };

  // src/sources/hls.ts
  var BACK_BUFFER_S = 30;
  var STALL_INCREASE_S = 0.25;
  var RATE_MAX = 1.1;
  var RECOVERY_MS = 1e4;
  var ANSWERED_MS = 100;
  var NATIVE_DELAY_S = 6;
  var loadHls = library("hls.js", () => globalThis.Hls);
  var HlsSource = class extends ElementSource {
    constructor(task) {
      super(task);
      this.hls = null;
      this.parts = 0;
      /** When it last recovered from a media error. */
      this.recovered = -Infinity;
      /** The delay that hls.js aims at, and for how many steps it has not grown. */
      this.target = 0;
      this.calm = 0;
    }
    async open() {
      const Library = await loadHls();
      if (this.isClosed) return;
      if (!Library.isSupported()) throw new Trouble("This browser cannot play HLS from a script.", true);
      const hls = new Library({
        lowLatencyMode: true,
        liveSyncOnStallIncrease: STALL_INCREASE_S,
        maxLiveSyncPlaybackRate: RATE_MAX,
        backBufferLength: BACK_BUFFER_S,
        // Fragmented MP4 passes through unchanged: a worker would only copy it.
        enableWorker: false
      });
      this.hls = hls;
      const { Events, ErrorTypes } = Library;
      hls.on(Events.FRAG_LOADED, () => {
        this.parts += 1;
      });
      hls.on(Events.LEVEL_LOADED, () => {
        this.parts += 1;
      });
      hls.on(Events.BUFFER_APPENDED, this.skipHole);
      this.element.addEventListener("timeupdate", this.skipHole);
      hls.on(Events.ERROR, (_, { fatal, type, details }) => {
        if (!fatal || this.isClosed) return;
        const { owner } = this.task;
        if (details === Library.ErrorDetails.MANIFEST_INCOMPATIBLE_CODECS_ERROR) {
          owner.fails("This browser does not decode what the publisher sends.");
        } else if (type !== ErrorTypes.MEDIA_ERROR) {
          owner.lost();
        } else if (performance.now() - this.recovered < RECOVERY_MS) {
          owner.undecoded();
        } else {
          this.recovered = performance.now();
          hls.recoverMediaError();
        }
      });
      hls.loadSource(new URL(this.task.way.path, document.baseURI).href);
      hls.attachMedia(this.element);
    }
    close() {
      this.isClosed = true;
      this.element.removeEventListener("timeupdate", this.skipHole);
      this.hls?.destroy();
      super.close();
    }
    received() {
      return super.received() + this.parts;
    }
    delay() {
      return this.hls?.latency || null;
    }
    /** hls.js plays faster by itself; it jumps only where media is missing. */
    catchUp() {
      this.comeCloser();
      const late = this.lag() - (this.hls?.targetLatency ?? 0);
      return late < JUMP_S || this.toLive();
    }
    /** hls.js stays further behind after each stall, for as long as it plays; here only while there are more. */
    comeCloser() {
      const { hls } = this;
      const [details, target] = [hls?.latestLevelDetails, hls?.targetLatency];
      if (!hls || !details || !target) return;
      this.calm = target > this.target ? 0 : this.calm + 1;
      this.target = target;
      const least = details.partHoldBack || details.holdBack;
      if (this.calm <= CALM_STEPS || target <= least) return;
      [this.target, this.calm] = [Math.max(least, target - STALL_INCREASE_S), 0];
      hls.targetLatency = this.target;
    }
    toLive() {
      const position = this.hls?.liveSyncPosition;
      if (position === null || position === void 0) return false;
      if (position > this.element.currentTime) this.element.currentTime = position;
      return true;
    }
    /**
     * hls.js gives up a reload that waits after 10 s, and then asks every few seconds without waiting. So the return's
     * first part is waited for here, and if hls.js has not heard of it by itself, it loads again at once.
     */
    revive() {
      const details = this.hls?.latestLevelDetails;
      if (details?.canBlockReload) void this.reloadAfter(details);
    }
    async reloadAfter(details) {
      const next = new URL(details.url);
      next.searchParams.set("_HLS_msn", `${details.lastPartSn}`);
      next.searchParams.set("_HLS_part", `${details.lastPartIndex + 1}`);
      const hasCome = await fetch(next).then((answer) => answer.ok, () => false);
      await new Promise((resolve) => {
        setTimeout(resolve, ANSWERED_MS);
      });
      const { hls } = this;
      if (!hasCome || this.isClosed || hls?.latestLevelDetails !== details) return;
      details.requestScheduled = 0;
      hls.stopLoad();
      hls.startLoad();
    }
    levels() {
      const levels = this.hls?.levels ?? [];
      const name = ({ height, bitrate }) => height ? `${height}p` : `${Math.round(bitrate / 1e3)} kb/s`;
      const isAutomatic = this.hls?.autoLevelEnabled ?? true;
      return {
        names: levels.length > 1 ? levels.map(name) : [],
        chosen: isAutomatic ? -1 : this.hls?.nextLevel ?? -1
      };
    }
    choose(level) {
      if (this.hls) this.hls.nextLevel = level;
    }
  };
  var NativeHlsSource = class extends ElementSource {
    constructor(task) {
      super(task);
    }
    async open() {
      this.element.src = this.task.way.path;
    }
    delay() {
      const { seekable, currentTime } = this.element;
      return seekable.length > 0 ? Math.max(0, seekable.end(seekable.length - 1) - currentTime) : null;
    }
    catchUp() {
      return this.lag() < NATIVE_DELAY_S + JUMP_S || this.toLive();
    }
    toLive() {
      const { seekable } = this.element;
      if (seekable.length === 0) return false;
      const position = seekable.end(seekable.length - 1) - NATIVE_DELAY_S / 2;
      if (position > this.element.currentTime) this.element.currentTime = position;
      return true;
    }
  };

  // src/sources/http.ts
  var RELOAD_S = 10;
  var HttpSource = class extends ElementSource {
    constructor(task) {
      super(task);
      /** The clock when the element's time was zero, if it had played without a break. */
      this.clockZero = null;
      this.onPlaying = () => {
        this.clockZero ?? (this.clockZero = now() - this.element.currentTime);
      };
    }
    async open() {
      this.element.preload = "none";
      this.element.addEventListener("playing", this.onPlaying);
      this.element.src = this.path();
    }
    close() {
      this.element.removeEventListener("playing", this.onPlaying);
      super.close();
    }
    /** The server's burst is of unknown length, so only changes of the delay are known. */
    delay() {
      return null;
    }
    lag() {
      return this.clockZero === null ? 0 : Math.max(0, now() - this.clockZero - this.element.currentTime);
    }
    catchUp() {
      return this.lag() < RELOAD_S;
    }
  };
  var now = () => performance.now() / 1e3;

  // src/rtc.ts
  var CONNECT_MS = 1e4;
  var PASSING = [409, 429, 503];
  var Problem = class extends Error {
    constructor(message, status2 = 0, isUnreachable = false) {
      super(message);
      this.status = status2;
      this.isUnreachable = isUnreachable;
    }
    /** Whether a retry may succeed. */
    get passes() {
      return PASSING.includes(this.status);
    }
  };
  var problemOf = async (answer) => {
    let words2 = "";
    try {
      const document2 = await answer.json();
      if (typeof document2.detail === "string") words2 = document2.detail;
    } catch {
    }
    words2 || (words2 = `The server answered with status ${answer.status}.`);
    return new Problem(words2.charAt(0).toUpperCase() + words2.slice(1), answer.status);
  };
  var inStereo = (sdp) => {
    const numbers = [...sdp.matchAll(/^a=rtpmap:(\d+) opus\/48000\/2/gim)].map((match) => match[1] ?? "");
    return numbers.reduce((text, number) => text.replace(
      new RegExp(`^a=fmtp:${number} (?!.*stereo=)(.*)$`, "m"),
      `a=fmtp:${number} $1;stereo=1;sprop-stereo=1`
    ), sdp);
  };
  var headersFor = (key, type = "") => ({
    ...type ? { "Content-Type": type } : {},
    ...key ? { Authorization: `Bearer ${key}` } : {}
  });
  var connected = (peer, ms) => new Promise((resolve, reject) => {
    const unreachable = () => reject(new Problem(
      "The server answers, but its media port cannot be reached from this network.",
      0,
      true
    ));
    const timer = setTimeout(unreachable, ms);
    const look = () => {
      if (peer.connectionState === "connected") resolve();
      else if (["failed", "closed"].includes(peer.connectionState)) unreachable();
      else return;
      clearTimeout(timer);
      peer.removeEventListener("connectionstatechange", look);
    };
    peer.addEventListener("connectionstatechange", look);
    look();
  });
  var sessionAt = (address, endpoint) => {
    const { pathname, search } = new URL(address, endpoint);
    const id = pathname.split("/").pop() ?? "";
    return new URL(`${endpoint.pathname}/${id}${search}`, endpoint);
  };
  var open = (peer, path, { key = "", connectMs = CONNECT_MS } = {}) => {
    const endpoint = new URL(path, document.baseURI);
    let session = null;
    let hasAnswer = false;
    let isOver = false;
    let abandon = () => {
    };
    const abandoned = new Promise((_, reject) => {
      abandon = reject;
    });
    abandoned.catch(() => {
    });
    const leave = () => {
      if (!session) return;
      fetch(session, { method: "DELETE", headers: headersFor(key), keepalive: true }).catch(() => {
      });
      session = null;
    };
    const end = () => {
      if (isOver) return;
      isOver = true;
      peer.close();
      leave();
      abandon(new Problem("The session was ended."));
    };
    const post = async () => {
      try {
        return await fetch(endpoint, {
          method: "POST",
          headers: headersFor(key, "application/sdp"),
          body: peer.localDescription?.sdp ?? "",
          cache: "no-store"
        });
      } catch {
        throw new Problem("The server cannot be reached.");
      }
    };
    const begin = async () => {
      const offer = await peer.createOffer();
      await peer.setLocalDescription({ type: "offer", sdp: inStereo(offer.sdp ?? "") });
      const answer = await post();
      if (answer.status !== 201) throw await problemOf(answer);
      const address = answer.headers.get("Location");
      session = address ? sessionAt(address, endpoint) : null;
      const sdp = await answer.text();
      if (isOver) {
        leave();
        return;
      }
      hasAnswer = true;
      await peer.setRemoteDescription({ type: "answer", sdp });
      await connected(peer, connectMs);
    };
    const ready = Promise.race([begin(), abandoned]);
    ready.catch(end);
    return { ready, end, isAnswered: () => hasAnswer };
  };

  // src/watchdog.ts
  var FROZEN_MS = 5e3;
  var Watchdog = class {
    constructor(now2, played, received) {
      this.played = played;
      this.received = received;
      this.lookedAt = 0;
      this.movedAt = 0;
      this.arrivedAt = 0;
      this.reset(now2);
    }
    /** Begins anew: what lies before does not count. */
    reset(now2) {
      [this.lookedAt, this.movedAt, this.arrivedAt] = [now2, now2, now2];
    }
    look(now2, played, received) {
      if (now2 - this.lookedAt > FROZEN_MS) this.reset(now2);
      this.lookedAt = now2;
      const hasMoved = played !== this.played;
      if (hasMoved) [this.played, this.movedAt] = [played, now2];
      if (received !== this.received) [this.received, this.arrivedAt] = [received, now2];
      return {
        hasMoved,
        stillMs: now2 - this.movedAt,
        idleMs: now2 - Math.max(this.movedAt, this.arrivedAt)
      };
    }
  };
  var STUCK_MS = 5e3;
  var STUCK_FRAMES = 1;
  var PictureWatch = class {
    constructor(now2) {
      this.lookedAt = 0;
      this.shownAt = 0;
      this.frames = 0;
      this.bytes = 0;
      /** Losses when the last picture was shown. */
      this.losses = 0;
      [this.lookedAt, this.shownAt] = [now2, now2];
    }
    /** Takes how many pictures were shown so far, what was lost and what came. Returns whether they have stopped for good. */
    look(now2, frames, losses, bytes) {
      const passed = now2 - this.lookedAt;
      const isFrozen = passed > FROZEN_MS;
      if (bytes === this.bytes) this.shownAt += passed;
      [this.lookedAt, this.bytes] = [now2, bytes];
      if (isFrozen || frames - this.frames > STUCK_FRAMES) [this.shownAt, this.frames, this.losses] = [now2, frames, losses];
      return now2 - this.shownAt > STUCK_MS && losses > this.losses;
    }
  };

  // src/sources/webrtc.ts
  var CONNECT_MS2 = 3500;
  var LOST_MS = 4e3;
  var WebrtcSource = class extends ElementSource {
    constructor(task) {
      super(task);
      this.peer = new RTCPeerConnection();
      this.session = null;
      this.last = { bytes: 0, frames: 0, losses: 0, waited: 0, emitted: 0 };
      this.picture = null;
      this.tripS = 0;
      this.delayS = null;
      this.isAsking = false;
    }
    async open() {
      const { way, element: element2 } = this.task;
      const { peer } = this;
      const media = new MediaStream();
      if (way.sound) peer.addTransceiver("audio", { direction: "recvonly" });
      if (way.picture) peer.addTransceiver("video", { direction: "recvonly" });
      peer.ontrack = ({ track }) => media.addTrack(track);
      this.session = open(peer, this.path(), { connectMs: CONNECT_MS2 });
      try {
        await this.session.ready;
      } catch (error) {
        throw troubleOf(error);
      }
      if (this.isClosed) return;
      if (way.picture && media.getVideoTracks().length === 0) {
        throw new Trouble("This browser would get the sound but no picture.", true);
      }
      this.watchConnection();
      if (way.picture) this.picture = new PictureWatch(performance.now());
      element2.srcObject = media;
    }
    close() {
      clearTimeout(this.lostTimer);
      this.isClosed = true;
      this.session?.end();
      this.peer.close();
      super.close();
    }
    received() {
      this.measure();
      return this.last.bytes + Number(this.session?.isAnswered() ?? false);
    }
    /** The element's own clock runs on without media. */
    played() {
      return this.last.bytes;
    }
    isStuck() {
      const { frames, losses, bytes } = this.last;
      return this.picture?.look(performance.now(), frames, losses, bytes) ?? false;
    }
    delay() {
      return this.delayS;
    }
    /** A session is always live. */
    lag() {
      return 0;
    }
    toLive() {
      return true;
    }
    watchConnection() {
      const { peer, task: { owner } } = this;
      const lose = () => {
        if (!this.isClosed) owner.lost();
      };
      peer.onconnectionstatechange = () => {
        clearTimeout(this.lostTimer);
        if (["failed", "closed"].includes(peer.connectionState)) lose();
        if (peer.connectionState === "disconnected") this.lostTimer = setTimeout(lose, LOST_MS);
      };
      const transport = peer.getReceivers()[0]?.transport;
      transport?.addEventListener("statechange", () => {
        if (transport.state === "closed") lose();
      });
    }
    /** Asks the browser for its figures; the answer counts at the next call. */
    measure() {
      if (this.isAsking || this.isClosed) return;
      this.isAsking = true;
      this.peer.getStats().then((stats) => this.read(stats), () => {
      }).finally(() => {
        this.isAsking = false;
      });
    }
    read(stats) {
      const report = { bytes: 0, frames: 0, losses: 0, waited: 0, emitted: 0 };
      stats.forEach((one) => {
        const number = (name) => Number(one[name] ?? 0);
        if (one["type"] === "inbound-rtp") {
          report.bytes += number("bytesReceived");
          report.frames += number("framesDecoded");
          if (one["kind"] === "video") report.losses += number("packetsLost") + number("pliCount");
          if (one["kind"] === (this.task.way.picture ? "video" : "audio")) {
            report.waited += number("jitterBufferDelay");
            report.emitted += number("jitterBufferEmittedCount");
          }
        } else if (one["type"] === "candidate-pair" && one["nominated"]) {
          this.tripS = number("currentRoundTripTime");
        }
      });
      const emitted = report.emitted - this.last.emitted;
      if (emitted > 0) this.delayS = (report.waited - this.last.waited) / emitted + this.tripS / 2;
      this.last = report;
    }
  };
  var troubleOf = (error) => {
    if (!(error instanceof Problem)) return new Trouble(String(error), true);
    const isPassing = error.passes || error.status === 0 && !error.isUnreachable || error.status === 404;
    return new Trouble(error.message, !isPassing);
  };

  // src/sources/make.ts
  var sourceOf = (task) => {
    switch (task.way.name) {
      case "webrtc":
        return new WebrtcSource(task);
      case "flv":
        return new FlvSource(task);
      case "hls":
        return new HlsSource(task);
      case "native":
        return new NativeHlsSource(task);
      case "http":
        return new HttpSource(task);
    }
  };

  // src/ways.ts
  var FOR_PICTURES = ["webrtc", "flv", "hls", "native", "http"];
  var FOR_SOUND = ["http", "flv", "hls", "native", "webrtc"];
  var FLV = "video/x-flv";
  var HLS = /^application\/(vnd\.apple\.|x-)mpegurl\b/i;
  var IN_MP4 = {
    h264: ['video/mp4; codecs="avc1.42E01E"'],
    hevc: ['video/mp4; codecs="hvc1.1.6.L93.B0"'],
    av1: ['video/mp4; codecs="av01.0.05M.08"'],
    vp9: ['video/mp4; codecs="vp09.00.10.08"'],
    aac: ['audio/mp4; codecs="mp4a.40.2"'],
    mp3: ["audio/mpeg", 'audio/mp4; codecs="mp3"'],
    opus: ['audio/mp4; codecs="opus"'],
    flac: ['audio/mp4; codecs="flac"'],
    ac3: ['audio/mp4; codecs="ac-3"']
  };
  var IN_FLV = ["h264", "hevc", "aac", "mp3", "opus", "flac"];
  var IN_RTP = {
    h264: "video/h264",
    hevc: "video/h265",
    av1: "video/av1",
    vp8: "video/vp8",
    vp9: "video/vp9"
  };
  var isHls = (one) => HLS.test(one.type);
  var isPlain = (one) => one.type !== FLV && !isHls(one) && !/^(audio|video)\/mp(4|2t)\b/.test(one.type);
  var isAppended = (browser, one) => Boolean(one && IN_MP4[one.codec]?.some((type) => browser.appends(type)));
  var offersOf = (offer) => (offer.qualities ?? []).map((quality) => [quality, { ...offer, ...quality }]);
  var isWhole = (offer, plays) => {
    const has = (one) => [trackOf(one, "video"), trackOf(one, "audio")].every((track) => !track || IN_MP4[track.codec]?.some(plays));
    const offers = offersOf(offer);
    return offers.length > 0 ? offers.some(([, one]) => has(one)) : has(offer);
  };
  var overFlv = (offer, browser) => {
    const address = offer.addresses.find((one) => one.type === FLV);
    const plays = (one) => Boolean(one && IN_FLV.includes(one.codec)) && isAppended(browser, one);
    return address && {
      name: "flv",
      label: "FLV",
      path: address.path,
      picture: plays(trackOf(offer, "video")),
      sound: plays(trackOf(offer, "audio"))
    };
  };
  var overAnyHls = (offer, plays, name, label) => {
    const address = offer.addresses.find(isHls);
    if (!address || !isWhole(offer, plays)) return void 0;
    return {
      name,
      label,
      path: address.path,
      picture: Boolean(trackOf(offer, "video")),
      sound: Boolean(trackOf(offer, "audio"))
    };
  };
  var overHls = (offer, browser) => overAnyHls(offer, browser.appends, "hls", "HLS");
  var overNativeHls = (offer, browser) => {
    const address = offer.addresses.find(isHls);
    if (!address || !browser.plays(address.type)) return void 0;
    return overAnyHls(offer, browser.plays, "native", "HLS (browser’s own)");
  };
  var overHttp = (offer, browser) => {
    const address = offer.addresses.find((one) => isPlain(one) && browser.plays(one.type));
    return address && {
      name: "http",
      label: address.label,
      path: address.path,
      picture: address.type.startsWith("video/") && Boolean(trackOf(offer, "video")),
      // The server does not know the content of some containers.
      sound: offer.tracks.length === 0 || Boolean(trackOf(offer, "audio"))
    };
  };
  var overWebrtc = (offer, browser) => {
    const { webrtc } = offer;
    if (!webrtc) return void 0;
    const type = IN_RTP[trackOf(offer, "video")?.codec ?? ""];
    return {
      name: "webrtc",
      label: "WebRTC",
      path: webrtc.path,
      picture: webrtc.picture !== false && Boolean(type && browser.receives(type)),
      sound: webrtc.audio && browser.receives("audio/opus")
    };
  };
  var worth = (way) => 2 * Number(way.picture) + Number(way.sound);
  var together = (over) => (offer, browser) => {
    const way = over(offer, browser);
    return way && { ...way, renditions: [] };
  };
  var onePerQuality = (over) => (offer, browser) => {
    const all = offersOf(offer).flatMap(([quality, one]) => {
      const way = over(one, browser);
      return way ? [{ quality, way }] : [];
    });
    const most = Math.max(...all.map(({ way }) => worth(way)));
    const [best, ...others] = all.filter(({ way }) => worth(way) === most);
    if (!best) return together(over)(offer, browser);
    const renditions = [best, ...others].map(({ quality: { name, stream, height }, way: { path } }) => ({ name, stream, height: height ?? 0, path }));
    return { ...best.way, renditions: others.length > 0 ? renditions : [] };
  };
  var WAYS2 = [
    onePerQuality(overWebrtc),
    onePerQuality(overFlv),
    together(overHls),
    together(overNativeHls),
    onePerQuality(overHttp)
  ];
  var fitting = (renditions, pixels) => renditions.find(({ height }) => height <= pixels) ?? renditions[renditions.length - 1] ?? null;
  var waysOf = (offer, browser, wish) => {
    const hasVideo = Boolean(trackOf(offer, "video"));
    const all = WAYS2.map((over) => over(offer, browser));
    const rank = (way) => worth(way) + (way.name === wish && (way.picture || !hasVideo) ? 4 : 0);
    const place = (way) => (way.picture ? FOR_PICTURES : FOR_SOUND).indexOf(way.name);
    return all.filter((way) => way !== void 0 && worth(way) > 0).sort((one, other) => rank(other) - rank(one) || place(one) - place(other));
  };
  var missing = (offer, way) => {
    const [video, audio] = [trackOf(offer, "video"), trackOf(offer, "audio")];
    if (video && !way.picture) return `This browser cannot show the picture, which is ${video.label}.`;
    if (audio && !way.sound) return "This browser cannot play the sound of this stream.";
    return "";
  };
  var refused = (offer, browser, ways, wish) => {
    if (wish !== "webrtc" || !offer.webrtc) return "";
    const webrtc = ways.find((way) => way.name === "webrtc");
    const video = trackOf(offer, "video");
    if (webrtc && (webrtc.picture || !video)) return "";
    const takes = !video || browser.receives(IN_RTP[video.codec] ?? "");
    if (takes && offer.webrtc.picture === false) {
      return "WebRTC does not work here: it cannot carry B-frames, which this stream has.";
    }
    return `WebRTC does not work here: this browser takes no ${video?.label ?? "sound"} over WebRTC.`;
  };

  // src/playback.ts
  var ASK_MS = 1e3;
  var ASK_HIDDEN_MS = 3e3;
  var ASK_PAUSE_MS = 500;
  var WATCH_MS = 1e3;
  var STALL_MS = 4e3;
  var DECODE_MS = 12e3;
  var TRACKS_MS = 1e3;
  var PAUSE_MS = 2e3;
  var PAUSE_MAX_MS = 6e4;
  var STEADY_MS = 1e4;
  var STUCK_WORDS = "The network loses too much of it: no picture was shown for 5 s.";
  var isThere = ({ live, tracks, addresses }) => live && (tracks.length > 0 || addresses.length > 0);
  var Playback = class {
    /** `changed` is called after each change of what can be read here, and each second while something plays. */
    constructor(stage2, offer, browser, changed) {
      this.stage = stage2;
      this.offer = offer;
      this.browser = browser;
      this.changed = changed;
      this.state = "connecting";
      this.way = null;
      /** The element that plays; `null` while none does. */
      this.element = null;
      /** The browser allowed no sound without a click. */
      this.isSilenced = false;
      /** What the listener should know beside the state, in sentences. */
      this.note = "";
      /** The title that was told since the offer. */
      this.title = null;
      /** Why the only way there is does not work now. */
      this.problem = "";
      /** Which way was left for a slower one, and why. */
      this.left = "";
      this.source = null;
      this.wish = null;
      /** The stream of the chosen rendition, for ways that play one at a time; `null` leaves it to the page. */
      this.quality = null;
      /** Another rendition was chosen and has not played yet. */
      this.isSwitching = false;
      /** Nothing is loaded before the first click. */
      this.isHeld = false;
      this.pausedAt = null;
      /** The browser paused what cannot be seen. */
      this.wasSuspended = false;
      this.frozenAt = null;
      this.hasPlayed = false;
      this.hasEverPlayed = false;
      this.attempts = new Attempts();
      this.isAsking = false;
      /** It has stopped because the publisher is away. */
      this.isAway = false;
      /** Ends the wait for the publisher, which would keep a connection. */
      this.waiting = new AbortController();
      this.watchdog = new Watchdog(0, 0, 0);
      this.playingSince = 0;
      /** Counts starts, so that what belongs to an earlier one can tell that it is out of date. */
      this.turn = 0;
      for (const media of [stage2.video, stage2.audio]) this.listen(media);
    }
    /** Begins. With `isHeld` it waits for the first click. */
    begin(wish, isHeld = false) {
      this.wish = wish;
      this.isHeld = isHeld;
      this.start();
    }
    /** All ways of this stream in this browser, best first. */
    ways() {
      return waysOf(this.offer, this.browser, this.wish);
    }
    wished() {
      return this.wish;
    }
    /** Takes this way if it works; `null` leaves the choice to the page. */
    choose(wish) {
      this.wish = wish;
      this.attempts.clear();
      this.left = "";
      this.hasEverPlayed = false;
      this.start();
    }
    play() {
      this.isHeld = false;
      if (this.state === "playing") return;
      if (this.source && this.element) {
        this.element.play().catch(() => {
        });
        if (this.state !== "blocked") return;
        this.resume();
        this.set("connecting");
      } else if (["paused", "blocked"].includes(this.state)) {
        this.pausedAt = null;
        this.start();
      }
    }
    /** What has not played yet is not begun before the next click. */
    pause() {
      if (this.hasPlayed) {
        this.element?.pause();
        this.paused(false);
      } else {
        this.stop();
        this.isHeld = true;
        this.set("blocked");
      }
    }
    /** Seconds between what plays and live, where that is known. */
    delay() {
      return this.hasPlayed ? this.source?.delay() ?? null : null;
    }
    /** The same as far as it can be estimated. */
    lag() {
      return this.hasPlayed ? this.source?.lag() ?? 0 : 0;
    }
    levels() {
      return this.source?.levels() ?? { names: [], chosen: -1 };
    }
    chooseLevel(level) {
      this.source?.choose(level);
    }
    /** Continues live, and plays if it was paused. */
    goLive() {
      if (!this.source?.toLive()) {
        this.start();
        return;
      }
      this.pausedAt = null;
      this.element?.play().catch(() => {
      });
    }
    /** The browser freezes the page, and with it what plays. */
    sleep() {
      if (this.source && this.pausedAt === null) this.frozenAt = performance.now();
    }
    /** The page can be seen again, or is no longer frozen. */
    wake() {
      const { wasSuspended, element: element2 } = this;
      const frozenMs = this.frozenAt === null ? 0 : performance.now() - this.frozenAt;
      [this.wasSuspended, this.frozenAt] = [false, null];
      if (frozenMs > PAUSE_MS) this.start();
      else if (wasSuspended && element2?.paused) element2.play().catch(() => {
      });
      else if (wasSuspended && this.state === "paused") this.start();
      this.look();
    }
    /** The page goes; `begin` or `choose` starts again. */
    leave() {
      this.stop();
    }
    /** Asks the server for the present state. */
    async refresh(untilLive) {
      const fresh = await ask(untilLive);
      if (fresh) {
        this.offer = { ...fresh, ...this.title };
        this.changed();
      }
      return Boolean(fresh);
    }
    /** The title is told as it changes; `null` from when on it is not. */
    titled(title) {
      this.title = title;
      this.offer = { ...this.offer, ...title };
      this.changed();
    }
    /**
     * Starts again when the tracks are no longer those that play: neither a MediaSource nor a session can be given
     * another track, and an element waits for ever for one that has ended.
     */
    async followTracks() {
      const before = codecsOf(this.offer);
      if (!await this.refresh() || !this.offer.live || codecsOf(this.offer) === before) return;
      const [best] = this.ways();
      const { way } = this;
      const isPlayed = way && best && best.picture === way.picture && best.sound === way.sound;
      if (isPlayed) return;
      if (this.pausedAt === null) this.choose(this.wish);
      else this.release();
    }
    /** At once, and not when the element says so: until then it would count as playing. */
    paused(isSuspended) {
      this.wasSuspended = isSuspended;
      this.pausedAt = performance.now();
      this.set("paused");
    }
    set(state) {
      this.state = state;
      this.changed();
    }
    stop() {
      this.turn += 1;
      this.waiting.abort();
      this.waiting = new AbortController();
      clearTimeout(this.retryTimer);
      clearInterval(this.watchTimer);
      clearTimeout(this.tracksTimer);
      this.source?.close();
      this.source = null;
      this.element = null;
      this.way = null;
      this.hasPlayed = false;
      [this.isAsking, this.isAway] = [false, false];
      this.isSwitching = false;
    }
    /** Makes the connection again after a pause, which grows. */
    retry(state) {
      this.stop();
      this.set(state);
      this.retryTimer = setTimeout(async () => {
        const { turn } = this;
        const isKnown = await this.refresh();
        if (turn !== this.turn) return;
        if (isKnown) this.start();
        else this.retry("unreachable");
      }, this.attempts.pauseMs());
    }
    /** Asks the server, which is known to have no publisher, whether it has one now. */
    async askAgain() {
      const { waiting: { signal } } = this;
      const pause = IS_MULTIPLEXED ? ASK_PAUSE_MS : document.hidden ? ASK_HIDDEN_MS : ASK_MS;
      await new Promise((resolve) => {
        setTimeout(resolve, pause);
      });
      return signal.aborted ? false : this.refresh(IS_MULTIPLEXED ? signal : void 0);
    }
    /** Starts as soon as the stream is live and has tracks. Nothing is connected before. */
    async awaitLive() {
      this.stop();
      const { turn, attempts } = this;
      const isOver = () => turn !== this.turn;
      this.set(this.offer.away ? "away" : "offline");
      while (!isThere(this.offer)) {
        const isKnown = await this.askAgain();
        if (isOver()) return;
        if (!isKnown) {
          this.retry("unreachable");
          return;
        }
        if (!isThere(this.offer)) this.set(this.offer.away ? "away" : "offline");
      }
      attempts.hurry();
      this.start();
    }
    start() {
      this.stop();
      const { offer } = this;
      if (!isThere(offer)) {
        void this.awaitLive();
        return;
      }
      const way = this.attempts.left(this.ways())[0] ?? null;
      this.note = this.noteOn(way);
      if (way) this.open(way);
      else if (this.attempts.forgiveSlow()) this.retry("reconnecting");
      else this.set("failed");
    }
    open(way) {
      const { turn } = this;
      const isOver = () => turn !== this.turn;
      const unlessOver = (act) => (...all) => {
        if (!isOver()) act(...all);
      };
      this.pausedAt = null;
      this.way = way;
      this.element = way.picture ? this.stage.video : this.stage.audio;
      if (this.isHeld) {
        this.set("blocked");
        this.element = null;
        return;
      }
      const rendition = this.renditionOf(way, this.element);
      this.source = sourceOf({
        way,
        rendition,
        isAutomatic: rendition?.stream !== this.quality,
        element: this.element,
        owner: {
          lost: unlessOver(() => this.lost()),
          fails: unlessOver((words2) => this.giveUp(words2)),
          undecoded: unlessOver(() => this.undecoded()),
          described: unlessOver(() => this.described()),
          chosen: unlessOver((stream) => this.switchTo(stream))
        }
      });
      this.set(this.hasEverPlayed && !this.isSwitching ? "reconnecting" : "connecting");
      this.resume();
      this.source.open().then(
        () => {
          if (!isOver()) void this.autoplay();
        },
        (error) => {
          if (!isOver()) this.troubled(error);
        }
      );
    }
    /** The chosen rendition while there is such a stream, else what fits the size at which it is shown. */
    renditionOf({ renditions }, element2) {
      const chosen = renditions.find(({ stream }) => stream === this.quality);
      const pixels = Math.ceil((element2.clientHeight || innerHeight) * devicePixelRatio);
      return chosen ?? fitting(renditions, pixels);
    }
    /** Plays another rendition by the same way. */
    switchTo(stream) {
      const { way } = this;
      if (!way) return;
      this.quality = stream;
      if (this.pausedAt !== null) {
        this.release();
        return;
      }
      this.stop();
      this.isSwitching = true;
      this.open(way);
    }
    /** A chosen rendition that does not begin is left for the page's own choice, before another way is tried. */
    switchesBack() {
      if (!this.isSwitching || this.quality === null) return false;
      void this.refresh();
      this.switchTo(null);
      return true;
    }
    /** Without a click, browsers let a page play only muted, and some not even that. */
    async autoplay() {
      const { turn, element: element2 } = this;
      if (!element2) return;
      const isOver = () => turn !== this.turn;
      const play = () => element2.play().then(() => "", (error) => error.name);
      const problem = await play();
      if (isOver() || problem !== "NotAllowedError") return;
      if (element2 === this.stage.video && !element2.muted) {
        element2.muted = true;
        const isPlaying = await play() === "";
        if (isOver()) return;
        if (isPlaying) {
          this.isSilenced = true;
          this.changed();
          return;
        }
      }
      this.pausedAt = performance.now();
      clearInterval(this.watchTimer);
      this.set("blocked");
    }
    troubled(error) {
      if (this.switchesBack()) return;
      const trouble = error instanceof Trouble ? error : new Trouble(String(error), true);
      if (trouble.isFinal) this.giveUp(trouble.message);
      else if (this.attempts.left(this.ways()).length > 1) this.tooSlow(trouble.message);
      else {
        this.problem = trouble.message;
        this.retry("reconnecting");
      }
    }
    /** This way does not work here. */
    giveUp(words2) {
      if (this.switchesBack()) return;
      if (this.way) this.attempts.fail(this.way.name, words2);
      this.start();
    }
    /** This way does not work now. */
    tooSlow(words2) {
      if (this.switchesBack()) return;
      if (this.way) this.attempts.tire(this.way.name, words2);
      this.start();
    }
    /** Leaves a way that brings no picture any more, if there is another one that has pictures. */
    leavesStuck() {
      const { way } = this;
      const others = this.attempts.left(this.ways()).filter(({ name, picture }) => picture && name !== way?.name);
      if (!way || others.length === 0) return false;
      this.left = `${way.label} does not work now. ${STUCK_WORDS}`;
      this.tooSlow(STUCK_WORDS);
      return true;
    }
    undecoded() {
      if (this.attempts.mayDecodeAgain()) this.lost();
      else this.giveUp("This browser does not decode what the publisher sends.");
    }
    /** A listener who paused is not brought back before pressing Play. */
    lost() {
      if (this.switchesBack()) return;
      if (this.pausedAt !== null && this.hasPlayed) this.release();
      else if (!this.hasPlayed && this.attempts.left(this.ways()).length > 1) {
        this.tooSlow("It was interrupted before it began.");
      } else this.retry("reconnecting");
    }
    release() {
      this.stop();
      this.set("paused");
    }
    described() {
      if (!this.hasPlayed) return;
      clearTimeout(this.tracksTimer);
      this.tracksTimer = setTimeout(() => void this.followTracks(), TRACKS_MS);
    }
    noteOn(way) {
      const wish = refused(this.offer, this.browser, this.ways(), this.wish) || this.wishFailed() || this.left;
      const words2 = [wish, way ? missing(this.offer, way) : "", this.problem];
      return words2.filter(Boolean).join(" ");
    }
    wishFailed() {
      const { wish } = this;
      if (!wish) return "";
      const reason = this.attempts.reason(wish);
      const label = this.ways().find(({ name }) => name === wish)?.label ?? wish;
      return reason === void 0 ? "" : `${label} does not work here. ${reason}`;
    }
    /** Begins to watch, or begins anew. */
    resume() {
      clearInterval(this.watchTimer);
      const { source } = this;
      this.watchdog = new Watchdog(performance.now(), source?.played() ?? 0, source?.received() ?? 0);
      this.watchTimer = setInterval(() => this.look(), WATCH_MS);
    }
    look() {
      const { source, element: element2, attempts } = this;
      if (!source || !element2 || this.state === "blocked") return;
      const now2 = performance.now();
      if (this.pausedAt !== null) {
        if (now2 - this.pausedAt > PAUSE_MAX_MS) this.release();
        else this.changed();
        return;
      }
      if (source.isStuck() && this.leavesStuck()) return;
      const { hasMoved, stillMs, idleMs } = this.watchdog.look(now2, source.played(), source.received());
      if (this.hasPlayed) {
        if (stillMs > STALL_MS) void this.stalled(stillMs);
        else this.lookAtPlaying(source, hasMoved, now2);
      } else if (idleMs > STALL_MS * attempts.patience) {
        this.tooSlow("No media has arrived.");
      } else if (stillMs > DECODE_MS * attempts.patience) {
        this.tooSlow("The media that arrives does not play.");
      }
    }
    lookAtPlaying(source, hasMoved, now2) {
      if (hasMoved) this.isAway = false;
      if (hasMoved && this.state !== "playing") this.set("playing");
      if (now2 - this.playingSince > STEADY_MS) this.attempts.settle();
      if (source.catchUp()) this.changed();
      else this.start();
    }
    /**
     * It has played and does not any more. While the publisher is away the connection is kept, and when it is back the
     * connection has the time of a stall to bring its media.
     */
    async stalled(stillMs) {
      if (this.isAsking) return;
      this.isAsking = true;
      const { turn } = this;
      const isKnown = await this.refresh();
      if (turn !== this.turn) return;
      if (isKnown && this.offer.away) {
        this.isAway = true;
        this.set("away");
        let isAnswered = true;
        while (isAnswered && this.offer.away && this.isAway) {
          isAnswered = await this.askAgain();
          if (turn !== this.turn) return;
        }
        const isStill = this.isAway;
        [this.isAsking, this.isAway] = [false, false];
        if (isAnswered && this.offer.live && isStill) {
          this.source?.revive();
          this.watchdog.reset(performance.now());
        }
        return;
      }
      this.isAsking = false;
      if (isKnown || stillMs > 2 * STALL_MS) this.retry(isKnown ? "reconnecting" : "unreachable");
      else this.set("buffering");
    }
    listen(media) {
      const on = (name, act) => media.addEventListener(name, () => {
        if (media === this.element) act();
      });
      on("playing", () => {
        if (media.paused) return;
        if (this.way) this.attempts.succeed(this.way.name);
        [this.isSwitching, this.isAway] = [false, false];
        [this.hasPlayed, this.hasEverPlayed, this.pausedAt, this.problem] = [true, true, null, ""];
        this.note = this.noteOn(this.way);
        this.playingSince = performance.now();
        this.watchdog.reset(this.playingSince);
        this.set("playing");
      });
      on("waiting", () => {
        if (this.hasPlayed && !media.paused) this.set(this.isAway ? "away" : "buffering");
      });
      on("pause", () => {
        if (!this.hasPlayed || !media.paused || this.pausedAt !== null) return;
        this.paused(document.hidden || this.frozenAt !== null);
      });
      on("play", () => {
        const isLate = this.pausedAt !== null && performance.now() - this.pausedAt > PAUSE_MS;
        this.pausedAt = null;
        this.watchdog.reset(performance.now());
        if (isLate && media.readyState > HTMLMediaElement.HAVE_NOTHING) this.goLive();
      });
      on("ended", () => this.lost());
      on("error", () => {
        if (this.way?.name === "flv" || this.way?.name === "hls") return;
        if (media.error?.code === MediaError.MEDIA_ERR_DECODE) this.undecoded();
        else this.lost();
      });
      on("volumechange", () => {
        if (!media.muted) this.isSilenced = false;
        this.changed();
      });
    }
  };

  // src/poster.ts
  var Poster = class {
    /** `video` is the element that plays. */
    constructor(video) {
      this.still = byId("still");
      this.isLoaded = false;
      this.isOver = false;
      const { still } = this;
      still.addEventListener("loadeddata", () => this.load());
      still.addEventListener("error", () => this.end());
      video.addEventListener("playing", () => this.end());
      if (still.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) this.load();
      if (!still.getAttribute("src")) this.isOver = true;
    }
    show() {
      this.still.hidden = this.isOver || !this.isLoaded;
    }
    load() {
      this.isLoaded = true;
      this.show();
    }
    end() {
      if (this.isOver) return;
      this.isOver = true;
      this.show();
      this.still.removeAttribute("src");
      this.still.load();
    }
  };

  // src/recordings.ts
  var LIST = "recordings.json";
  var FROM_START = "index.m3u8?at=start";
  var PLAYLIST = "application/vnd.apple.mpegurl";
  var LIST_MS = 3e4;
  var STEP = 50;
  var SHOWN_MAX = 2e3;
  var dateOf = (started) => new Date(started).toLocaleString(void 0, { dateStyle: "medium", timeStyle: "short" });
  var Recordings = class {
    /** `begins` is called when a recording is played. */
    constructor(begins) {
      this.begins = begins;
      this.section = byId("recordings");
      this.list = byId("recorded");
      this.more = byId("more-recorded");
      this.video = byId("past");
      this.note = byId("past-note");
      this.hls = null;
      this.shown = "";
      /** Rows that are wanted. */
      this.wanted = STEP;
      /** Looks so far: what an earlier one finds is not shown any more. */
      this.looks = 0;
      this.video.addEventListener("play", begins);
      this.more.addEventListener("click", () => void this.showMore());
      this.video.addEventListener("error", () => {
        if (this.video.hasAttribute("src")) this.fail();
      });
      document.addEventListener("visibilitychange", () => void this.look());
      setInterval(() => void this.look(), LIST_MS);
      void this.look();
    }
    /** Something else plays. */
    pause() {
      if (!this.video.paused) this.video.pause();
    }
    async look() {
      if (document.hidden) return;
      this.looks += 1;
      const look = this.looks;
      const recordings2 = [];
      let cursor = null;
      do {
        const answer = await this.ask(cursor);
        if (answer === null || look !== this.looks) return;
        recordings2.push(...answer.recordings);
        cursor = answer.cursor;
      } while (cursor !== null && recordings2.length < this.wanted);
      const isAll = cursor === null && recordings2.length <= this.wanted;
      this.show(recordings2.slice(0, this.wanted), !isAll && this.wanted < SHOWN_MAX);
    }
    async ask(cursor) {
      const url = new URL(admitted(LIST), document.baseURI);
      if (cursor !== null) url.searchParams.set("cursor", cursor);
      const answer = await fetch(url).catch(() => null);
      return answer?.ok ? await answer.json() : null;
    }
    /** Shows more; the focus goes to the first of them, where the button was. */
    async showMore() {
      const before = this.list.children.length;
      this.wanted = Math.min(this.wanted + STEP, SHOWN_MAX);
      await this.look();
      this.list.children[before]?.querySelector("button")?.focus();
    }
    show(recordings2, hasMore) {
      this.section.hidden = recordings2.length === 0;
      this.more.hidden = !hasMore;
      const shown = JSON.stringify(recordings2.map(({ id, state, seconds: seconds2 }) => [id, state, state === "open" ? Math.floor(seconds2 / 60) : seconds2]));
      if (this.shown === shown) return;
      this.shown = shown;
      this.list.replaceChildren(...recordings2.map((one) => this.row(one)));
    }
    row(one) {
      const label = dateOf(one.started);
      const isOpen = one.state === "open";
      const row = element("li");
      const buttons = [this.button("Play", { label, ...this.whole(one) })];
      if (isOpen && one.hls) {
        const choice = { label: "From the start", path: FROM_START, isPlaylist: true };
        buttons.push(this.button("From the start", choice));
      }
      const keep = Object.assign(element("a", "Download"), { href: `${one.file}?download=1` });
      keep.setAttribute("aria-label", `Download ${label}`);
      const length = isOpen ? `${lengthOf(one.seconds)}, being recorded` : lengthOf(one.seconds);
      row.append(element("span", label), element("span", length), ...buttons, keep);
      return row;
    }
    /** A file that still grows has no end; its playlist is followed. */
    whole({ state, file, hls }) {
      const isPlaylist = state === "open" && hls !== null;
      return { path: isPlaylist ? hls : file, isPlaylist };
    }
    button(words2, choice) {
      const button = Object.assign(element("button", words2), { type: "button" });
      if (words2 !== choice.label) button.setAttribute("aria-label", `${words2} ${choice.label}`);
      button.addEventListener("click", () => void this.play(choice));
      return button;
    }
    async play(choice) {
      this.end();
      this.video.hidden = false;
      this.video.setAttribute("aria-label", choice.label);
      say(this.note, choice.label);
      this.begins();
      this.video.scrollIntoView({ block: "nearest" });
      const url = new URL(admitted(choice.path), document.baseURI).href;
      const Library = choice.isPlaylist ? await loadHls().catch(() => null) : null;
      if (Library?.isSupported()) {
        const hls = new Library({ enableWorker: false });
        this.hls = hls;
        hls.on(Library.Events.ERROR, (_, { fatal }) => {
          if (fatal) this.fail();
        });
        hls.loadSource(url);
        hls.attachMedia(this.video);
      } else if (choice.isPlaylist && !thisBrowser.plays(PLAYLIST)) {
        this.fail();
        return;
      } else {
        this.video.src = url;
      }
      await this.video.play().catch(() => void 0);
    }
    fail() {
      say(this.note, "This browser cannot play the recording. It can be downloaded.");
    }
    end() {
      this.hls?.destroy();
      this.hls = null;
      this.video.removeAttribute("src");
      this.video.load();
    }
  };

  // src/titles.ts
  var Titles = class {
    /** `tell` is given the title in force, each that follows, and `null` when no more are told. */
    constructor(tell) {
      this.tell = tell;
      this.events = null;
      if (!IS_MULTIPLEXED || typeof EventSource !== "function") return;
      document.addEventListener("visibilitychange", () => this.follow(!document.hidden));
      addEventListener("pagehide", () => this.follow(false));
      addEventListener("pageshow", () => this.follow(!document.hidden));
      this.follow(!document.hidden);
    }
    follow(isWanted) {
      if (isWanted === Boolean(this.events)) return;
      this.events?.close();
      this.events = isWanted ? new EventSource(admitted("titles")) : null;
      if (!this.events) {
        this.tell(null);
        return;
      }
      this.events.onmessage = ({ data }) => {
        const { title, picture } = JSON.parse(data);
        this.tell({ title, picture: picture ?? null });
      };
      this.events.onerror = () => this.tell(null);
    }
  };

  // src/player.ts
  var INFO_MS = 1e4;
  var settings = read();
  var { classList } = document.documentElement;
  if (settings.isEmbedded) classList.add("embedded");
  if (settings.isBare) classList.add("bare");
  var stage = { video: byId("video"), audio: byId("audio") };
  var poster = new Poster(stage.video);
  var status = byId("status");
  var note = byId("note");
  var words = new Words();
  var meter = new Meter();
  var shownOffer = null;
  var show = () => {
    controls.show();
    say(status, words.of(playback, performance.now()));
    note.hidden = playback.note === "";
    say(note, playback.note);
    if (shownOffer !== playback.offer) {
      shownOffer = playback.offer;
      showOffer(playback.offer);
    }
    const isHeard = playback.state === "playing" && playback.element === stage.audio;
    if (isHeard || playback.element === null) meter.follow(isHeard ? stage.audio : null);
    poster.show();
    if (playback.state === "playing") recordings?.pause();
    if (navigator.mediaSession) {
      navigator.mediaSession.playbackState = controls.isPaused() ? "paused" : "playing";
    }
    embedding.show();
  };
  var playback = new Playback(stage, delivered(), thisBrowser, () => show());
  var controls = new Controls(playback, stage);
  var embedding = new Embedding(playback, controls);
  var recordings = settings.isEmbedded ? null : new Recordings(() => playback.pause());
  controls.setVolume(settings.volume);
  controls.setMuted(settings.isMuted);
  offerDevices([stage.video, stage.audio], () => controls.media());
  offerCode();
  new Titles((title) => playback.titled(title));
  navigator.mediaSession?.setActionHandler("play", () => playback.play());
  navigator.mediaSession?.setActionHandler("pause", () => playback.pause());
  addEventListener("hashchange", () => {
    if (wantsLive() && playback.wished() !== "webrtc") playback.choose("webrtc");
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) playback.wake();
  });
  document.addEventListener("freeze", () => playback.sleep());
  document.addEventListener("resume", () => playback.wake());
  addEventListener("pagehide", () => playback.leave());
  addEventListener("pageshow", (event) => {
    if (event.persisted) playback.choose(playback.wished());
  });
  setInterval(() => {
    if (!document.hidden) void playback.followTracks();
  }, INFO_MS);
  playback.begin(settings.way, settings.isHeld);
})();
