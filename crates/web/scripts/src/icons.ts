// The signs on the player's buttons: paths in a square of 24 units, filled by the even-odd rule.

const SPEAKER = "M3 9h4l5-5v16l-5-5H3z";

export const ICONS = {
  play: "M7 4l13 8-13 8z",
  pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  sound: `${SPEAKER}M15 9h2v6h-2zM19 6h2v12h-2z`,
  muted: `${SPEAKER}M16.4 8L22 13.6 20.6 15 15 9.4zM20.6 8L22 9.4 16.4 15 15 13.6z`,
  pip: "M2 4h20v16H2zM4 6v12h16V6zM12 11h6v5h-6z",
  cast: "M2 4h20v13h-4v-2h2V6H4v9h2v2H2zM12 13l6 7H6z",
  full: "M3 3h7v2H5v5H3zM14 3h7v7h-2V5h-5zM3 14h2v5h5v2H3zM19 14h2v7h-7v-2h5z",
  window: "M8 3h2v7H3V8h5zM14 3h2v5h5v2h-7zM3 14h7v7H8v-5H3zM14 14h7v2h-5v5h-2z",
} as const;
