// WebRTC, by WHEP.

import * as rtc from "../rtc";
import { PictureWatch } from "../watchdog";
import { ElementSource, Trouble, type Task } from "./source";

/** A path is found within this time, or another way is taken. */
const CONNECT_MS = 3_500;
/** A lost connection recovers within this time, or not at all. */
const LOST_MS = 4_000;

/** What the browser reports of a receiver, summed over all of them. */
interface Report {
  bytes: number;
  /** Pictures shown. */
  frames: number;
  /** Packets of pictures that were lost, and requests for a keyframe. */
  losses: number;
  /** Seconds that emitted samples have waited, and how many there were. */
  waited: number;
  emitted: number;
}

export class WebrtcSource extends ElementSource {
  private readonly peer = new RTCPeerConnection();
  private session: rtc.Session | null = null;
  private lostTimer: ReturnType<typeof setTimeout> | undefined;
  private last: Report = { bytes: 0, frames: 0, losses: 0, waited: 0, emitted: 0 };
  private picture: PictureWatch | null = null;
  private tripS = 0;
  private delayS: number | null = null;
  private isAsking = false;

  constructor(task: Task) {
    super(task);
  }

  override async open(): Promise<void> {
    const { way, element } = this.task;
    const { peer } = this;
    const media = new MediaStream();
    if (way.sound) peer.addTransceiver("audio", { direction: "recvonly" });
    if (way.picture) peer.addTransceiver("video", { direction: "recvonly" });
    peer.ontrack = ({ track }) => media.addTrack(track);
    this.session = rtc.open(peer, this.path(), { connectMs: CONNECT_MS });
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
    element.srcObject = media;
  }

  override close(): void {
    clearTimeout(this.lostTimer);
    this.isClosed = true;
    this.session?.end();
    this.peer.close();
    super.close();
  }

  override received(): number {
    this.measure();
    return this.last.bytes + Number(this.session?.isAnswered() ?? false);
  }

  /** The element's own clock runs on without media. */
  override played(): number {
    return this.last.bytes;
  }

  override isStuck(): boolean {
    const { frames, losses, bytes } = this.last;
    return this.picture?.look(performance.now(), frames, losses, bytes) ?? false;
  }

  override delay(): number | null {
    return this.delayS;
  }

  /** A session is always live. */
  override lag(): number {
    return 0;
  }

  override toLive(): boolean {
    return true;
  }

  private watchConnection(): void {
    const { peer, task: { owner } } = this;
    const lose = (): void => { if (!this.isClosed) owner.lost(); };
    peer.onconnectionstatechange = () => {
      clearTimeout(this.lostTimer);
      if (["failed", "closed"].includes(peer.connectionState)) lose();
      if (peer.connectionState === "disconnected") this.lostTimer = setTimeout(lose, LOST_MS);
    };
    // The server closes a session whose stream has ended.
    const transport = peer.getReceivers()[0]?.transport;
    transport?.addEventListener("statechange", () => { if (transport.state === "closed") lose(); });
  }

  /** Asks the browser for its figures; the answer counts at the next call. */
  private measure(): void {
    if (this.isAsking || this.isClosed) return;
    this.isAsking = true;
    this.peer.getStats().then((stats) => this.read(stats), () => {}).finally(() => { this.isAsking = false; });
  }

  private read(stats: RTCStatsReport): void {
    const report: Report = { bytes: 0, frames: 0, losses: 0, waited: 0, emitted: 0 };
    stats.forEach((one: Record<string, unknown>) => {
      const number = (name: string): number => Number(one[name] ?? 0);
      if (one["type"] === "inbound-rtp") {
        report.bytes += number("bytesReceived");
        report.frames += number("framesDecoded");
        if (one["kind"] === "video") report.losses += number("packetsLost") + number("pliCount");
        // Picture and sound are played in step, so one of them tells the delay of both.
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
}

/** A server that refuses for now, or cannot be reached at all, may be asked again. */
const troubleOf = (error: unknown): Trouble => {
  if (!(error instanceof rtc.Problem)) return new Trouble(String(error), true);
  const isPassing = error.passes || (error.status === 0 && !error.isUnreachable) || error.status === 404;
  return new Trouble(error.message, !isPassing);
};
