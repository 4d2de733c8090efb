// The level of the sound, as bars. It listens beside the element and never stands between it and the loudspeaker: a
// suspended audio context would silence what plays.

import { byId } from "./dom";

const FFT_SIZE = 256;
const BARS = 48;
/** The highest bins are silent in most sound. */
const USED = 0.7;
const GAP = 0.25;
/** Of a byte of the analyser. */
const LEVEL_MAX = 255;

/** What browsers have beside the standard; Safari has neither, and shows no level. */
interface Capturing {
  captureStream?(): MediaStream;
  mozCaptureStream?(): MediaStream;
}

export class Meter {
  private readonly canvas = byId<HTMLCanvasElement>("meter");
  private context: AudioContext | null = null;
  private analyser: AnalyserNode | null = null;
  private input: MediaStreamAudioSourceNode | null = null;
  private heard: MediaStream | null = null;
  private of: HTMLMediaElement | null = null;

  /** Shows the level of an element that plays sound alone; `null` ends it. */
  follow(media: HTMLMediaElement | null): void {
    if (media === this.of) return;
    this.input?.disconnect();
    [this.of, this.input, this.heard] = [media, null, null];
    this.canvas.hidden = true;
    if (!media || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    try {
      this.listen(media);
    } catch {
      // Sound from another origin is not given to scripts.
    }
  }

  private listen(media: HTMLMediaElement): void {
    const stream = streamOf(media);
    if (!stream || typeof AudioContext !== "function") return;
    // Only a page that was clicked may have a context that runs, and one for its whole life is enough.
    this.context ??= new AudioContext();
    if (this.context.state === "suspended") this.context.resume().catch(() => {});
    this.heard = stream;
    this.connect(media);
    stream.addEventListener("addtrack", () => this.connect(media));
  }

  private connect(media: HTMLMediaElement): void {
    const { context, heard } = this;
    if (!context || !heard || media !== this.of || this.input || heard.getAudioTracks().length === 0) return;
    this.analyser ??= Object.assign(context.createAnalyser(), { fftSize: FFT_SIZE });
    this.input = context.createMediaStreamSource(heard);
    this.input.connect(this.analyser);
    this.draw();
  }

  private draw(): void {
    const { canvas, analyser, context, input } = this;
    const paper = canvas.getContext("2d");
    if (!paper || !analyser || !context) return;
    const levels = new Uint8Array(analyser.frequencyBinCount);
    const step = (): void => {
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
}

const streamOf = (media: HTMLMediaElement & Capturing): MediaStream | null => {
  if (media.srcObject instanceof MediaStream) return media.srcObject;
  return media.captureStream?.() ?? media.mozCaptureStream?.() ?? null;
};
