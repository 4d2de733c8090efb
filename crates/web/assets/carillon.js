// Made from crates/web/scripts/src by `npm run build`; do not edit.
"use strict";
(() => {
  // src/carillon.ts
  var ELEMENT = "carillon-player";
  var VERSION = 1;
  var ROOT = new URL("./", document.currentScript?.src ?? location.href).href;
  var STYLE = ":host { display: block; aspect-ratio: 16 / 9; background: #000 } :host([hidden]) { display: none } iframe { display: block; width: 100%; height: 100%; border: 0 }";
  var frameAddress = (src) => {
    let stream;
    try {
      stream = new URL(src, ROOT);
    } catch {
      return null;
    }
    if (!/^https?:$/.test(stream.protocol)) return null;
    const root = stream.href.startsWith(ROOT) ? new URL(ROOT) : new URL("/", stream);
    const name = stream.pathname.slice(root.pathname.length).replace(/\/+$/, "");
    return new URL(`embed/${name}${stream.search}`, root);
  };
  var CarillonPlayer = class extends HTMLElement {
    constructor() {
      super();
      this.root = this.attachShadow({ mode: "open" });
      this.frame = null;
      this.origin = "";
      this.told = null;
      /** Commands that wait for the frame's first word, one of each name. */
      this.waiting = /* @__PURE__ */ new Map();
      this.hear = (event) => {
        if (!this.frame || event.source !== this.frame.contentWindow || event.origin !== this.origin) return;
        const told = event.data;
        if (told?.carillon !== VERSION || told.event !== "state") return;
        const { state, way, delay, muted, volume, title } = told;
        this.told = { state, way, delay, muted, volume, title };
        for (const [command, value] of this.waiting) this.send(command, value);
        this.waiting.clear();
        this.dispatchEvent(new CustomEvent("state", { detail: this.told }));
      };
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      this.root.adoptedStyleSheets = [sheet];
    }
    connectedCallback() {
      addEventListener("message", this.hear);
      this.load();
    }
    disconnectedCallback() {
      removeEventListener("message", this.hear);
      this.unload();
    }
    attributeChangedCallback(name) {
      if (!this.frame && name !== "src") return;
      if (name === "muted") this.command(this.hasAttribute("muted") ? "mute" : "unmute");
      else if (name === "title" && this.frame) this.frame.title = this.label();
      else if (this.isConnected) this.load();
    }
    play() {
      this.command("play");
    }
    pause() {
      this.command("pause");
    }
    mute() {
      this.command("mute");
    }
    unmute() {
      this.command("unmute");
    }
    /** Continues live. */
    live() {
      this.command("live");
    }
    get muted() {
      return this.told?.muted ?? this.hasAttribute("muted");
    }
    set muted(isMuted) {
      this.command(isMuted ? "mute" : "unmute");
    }
    /** 0 to 1. */
    get volume() {
      return this.told?.volume ?? 1;
    }
    set volume(volume) {
      this.command("volume", volume);
    }
    /** What is going on, as in a `state` event. */
    get state() {
      return this.told?.state ?? "connecting";
    }
    /** Makes the frame anew, as the attributes say. */
    load() {
      this.unload();
      const src = this.getAttribute("src");
      const address = src ? frameAddress(src) : null;
      if (!address) return;
      const set = (name, isSet, value) => {
        if (isSet) address.searchParams.set(name, value);
      };
      set("muted", this.hasAttribute("muted"), "1");
      set("controls", !this.hasAttribute("controls"), "0");
      set("autoplay", !this.hasAttribute("autoplay"), "0");
      this.origin = address.origin;
      const frame = document.createElement("iframe");
      frame.allow = "autoplay; fullscreen; picture-in-picture";
      frame.title = this.label();
      frame.src = address.href;
      this.frame = frame;
      this.root.append(frame);
    }
    unload() {
      this.frame?.remove();
      this.frame = null;
      this.told = null;
      this.waiting.clear();
    }
    label() {
      return this.getAttribute("title") || "Live player";
    }
    command(command, value) {
      if (this.told) this.send(command, value);
      else this.waiting.set(command, value);
    }
    send(command, value) {
      this.frame?.contentWindow?.postMessage({ carillon: VERSION, command, value }, this.origin);
    }
  };
  CarillonPlayer.observedAttributes = ["src", "muted", "controls", "autoplay", "title"];
  if (!customElements.get(ELEMENT)) customElements.define(ELEMENT, CarillonPlayer);
})();
