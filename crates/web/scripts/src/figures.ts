// What a publisher's session reports: bitrate, picture, round trip, loss.

/** The report before, which a bitrate needs. */
interface Sent {
  bytes: number;
  at: number;
}

const amount = (bits: number): string =>
  (bits >= 1e6 ? `${(bits / 1e6).toFixed(1)} Mb/s` : `${Math.round(bits / 1e3)} kb/s`);

type Entry = Record<string, unknown>;

const number = (entry: Entry | undefined, name: string): number | undefined => {
  const value = entry?.[name];
  return typeof value === "number" ? value : undefined;
};

/** Turns reports of one session into words, one after the other. */
export class Figures {
  private last: Sent | null = null;

  /** `now` is in milliseconds of any clock. */
  of(stats: RTCStatsReport, now: number): string {
    const report: Entry[] = [];
    stats.forEach((one: Entry) => report.push(one));
    const sent = report.filter((one) => one["type"] === "outbound-rtp");
    const bytes = sent.reduce((sum, one) => sum + (number(one, "bytesSent") ?? 0), 0);
    const video = sent.find((one) => one["kind"] === "video" && one["frameHeight"]);
    const remote = report.filter((one) => one["type"] === "remote-inbound-rtp");
    const trip = remote.map((one) => number(one, "roundTripTime")).find((time) => time !== undefined);
    const loss = Math.max(0, ...remote.map((one) => number(one, "fractionLost") ?? 0));
    const parts: string[] = [];
    if (this.last) parts.push(`${amount((bytes - this.last.bytes) * 8000 / (now - this.last.at))} sent`);
    if (video) {
      const rate = Math.round(number(video, "framesPerSecond") ?? 0);
      parts.push(`${String(video["frameWidth"])}×${String(video["frameHeight"])}, ${rate} fps`);
    }
    if (trip !== undefined) parts.push(`round trip ${Math.round(trip * 1000)} ms`);
    if (remote.length > 0) parts.push(`${(loss * 100).toFixed(1)} % lost`);
    this.last = { bytes, at: now };
    return parts.join(" · ");
  }
}
