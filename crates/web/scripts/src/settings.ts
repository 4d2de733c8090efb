// What the page's address asks for, and what the browser remembers.

import type { WayName } from "./ways";

const WAY_KEY = "carillon-way";
const VOLUME_KEY = "carillon-volume";
const WAYS: readonly WayName[] = ["webrtc", "flv", "hls", "native", "http"];
/** The fragment that asks for the least delay. */
const LIVE = "#live";

/** The parameters of the page's address; `README.md` describes them. */
export interface Settings {
  /** The compact layout, for a frame in another page. */
  isEmbedded: boolean;
  isMuted: boolean;
  /** Nothing is shown but the picture. */
  isBare: boolean;
  /** Nothing is loaded before the first click. */
  isHeld: boolean;
  /** 0 to 1. */
  volume: number;
  way: WayName | null;
}

const remembered = (key: string): string | null => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
};

const remember = (key: string, value: string): void => {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Without storage the choice holds for this page only.
  }
};

const wayOf = (text: string | null): WayName | null => WAYS.find((way) => way === text) ?? null;

/** A share from a percentage; anything else is `null`. */
const shareOf = (text: string | null): number | null => {
  const percent = Number(text || NaN);
  return percent >= 0 && percent <= 100 ? percent / 100 : null;
};

const isOn = (text: string | null): boolean => text === "1" || text === "true" || text === "";

/** Whether the address asks for the least delay. */
export const wantsLive = (): boolean => location.hash === LIVE;

export const read = (): Settings => {
  const query = new URLSearchParams(location.search);
  const isOff = (text: string | null): boolean => text === "0" || text === "false";
  return {
    isEmbedded: isOn(query.get("embed")),
    isMuted: isOn(query.get("muted")),
    isBare: isOff(query.get("controls")),
    isHeld: isOff(query.get("autoplay")),
    volume: shareOf(query.get("volume")) ?? shareOf(remembered(VOLUME_KEY)) ?? 1,
    way: wantsLive() ? "webrtc" : wayOf(query.get("way") ?? remembered(WAY_KEY)),
  };
};

export const rememberWay = (way: WayName | null): void => remember(WAY_KEY, way ?? "");

export const rememberVolume = (volume: number): void => remember(VOLUME_KEY, String(Math.round(volume * 100)));
