// `<carillon-player src="https://host/live/show" muted controls></carillon-player>`: a live stream in any page.
//
// The element holds a frame of the server's `/embed/{stream}` and talks with it by the messages that `README.md`
// describes. It hears that frame alone, from the server's origin alone, and tells its commands to no other origin.
// One script, without anything else of this server's pages.

const ELEMENT = "carillon-player";
/** The value of `carillon` in every message. */
const VERSION = 1;
/** The address of `/` on the server that this script is from. */
const ROOT = new URL("./", (document.currentScript as HTMLScriptElement | null)?.src ?? location.href).href;

const STYLE = ":host { display: block; aspect-ratio: 16 / 9; background: #000 } " +
  ":host([hidden]) { display: none } iframe { display: block; width: 100%; height: 100%; border: 0 }";

/** What the frame tells; a `state` event has it as its `detail`. */
interface Told {
  state: string;
  way: string | null;
  /** Seconds behind live, if known. */
  delay: number | null;
  muted: boolean;
  volume: number;
  title: string | null;
}

/** The address of a stream's player; `null` for what is not at an HTTP address. */
const frameAddress = (src: string): URL | null => {
  let stream: URL;
  try {
    stream = new URL(src, ROOT);
  } catch {
    return null;
  }
  if (!/^https?:$/.test(stream.protocol)) return null;
  // A server below a path prefix is known by where this script is.
  const root = stream.href.startsWith(ROOT) ? new URL(ROOT) : new URL("/", stream);
  const name = stream.pathname.slice(root.pathname.length).replace(/\/+$/, "");
  return new URL(`embed/${name}${stream.search}`, root);
};

class CarillonPlayer extends HTMLElement {
  static readonly observedAttributes = ["src", "muted", "controls", "autoplay", "title"];

  private readonly root = this.attachShadow({ mode: "open" });
  private frame: HTMLIFrameElement | null = null;
  private origin = "";
  private told: Told | null = null;
  /** Commands that wait for the frame's first word, one of each name. */
  private readonly waiting = new Map<string, unknown>();
  private readonly hear = (event: MessageEvent): void => {
    if (!this.frame || event.source !== this.frame.contentWindow || event.origin !== this.origin) return;
    const told = event.data as { carillon?: unknown; event?: unknown } & Told | null;
    if (told?.carillon !== VERSION || told.event !== "state") return;
    const { state, way, delay, muted, volume, title } = told;
    this.told = { state, way, delay, muted, volume, title };
    for (const [command, value] of this.waiting) this.send(command, value);
    this.waiting.clear();
    this.dispatchEvent(new CustomEvent("state", { detail: this.told }));
  };

  constructor() {
    super();
    // A page's policy may forbid style elements, but not these.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    this.root.adoptedStyleSheets = [sheet];
  }

  connectedCallback(): void {
    addEventListener("message", this.hear);
    this.load();
  }

  disconnectedCallback(): void {
    removeEventListener("message", this.hear);
    this.unload();
  }

  attributeChangedCallback(name: string): void {
    if (!this.frame && name !== "src") return;
    if (name === "muted") this.command(this.hasAttribute("muted") ? "mute" : "unmute");
    else if (name === "title" && this.frame) this.frame.title = this.label();
    else if (this.isConnected) this.load();
  }

  play(): void { this.command("play"); }

  pause(): void { this.command("pause"); }

  mute(): void { this.command("mute"); }

  unmute(): void { this.command("unmute"); }

  /** Continues live. */
  live(): void { this.command("live"); }

  get muted(): boolean { return this.told?.muted ?? this.hasAttribute("muted"); }

  set muted(isMuted: boolean) { this.command(isMuted ? "mute" : "unmute"); }

  /** 0 to 1. */
  get volume(): number { return this.told?.volume ?? 1; }

  set volume(volume: number) { this.command("volume", volume); }

  /** What is going on, as in a `state` event. */
  get state(): string { return this.told?.state ?? "connecting"; }

  /** Makes the frame anew, as the attributes say. */
  private load(): void {
    this.unload();
    const src = this.getAttribute("src");
    const address = src ? frameAddress(src) : null;
    if (!address) return;
    const set = (name: string, isSet: boolean, value: string): void => {
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

  private unload(): void {
    this.frame?.remove();
    this.frame = null;
    this.told = null;
    this.waiting.clear();
  }

  private label(): string {
    return this.getAttribute("title") || "Live player";
  }

  private command(command: string, value?: unknown): void {
    if (this.told) this.send(command, value);
    else this.waiting.set(command, value);
  }

  private send(command: string, value: unknown): void {
    this.frame?.contentWindow?.postMessage({ carillon: VERSION, command, value }, this.origin);
  }
}

if (!customElements.get(ELEMENT)) customElements.define(ELEMENT, CarillonPlayer);
