// Finding and making elements.

/** The element with this id. The server's HTML has every one that the scripts use. */
export const byId = <T extends HTMLElement = HTMLElement>(id: string): T => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found as T;
};

/** A new element with text and without attributes. */
export const element = <K extends keyof HTMLElementTagNameMap>(name: K, text = ""): HTMLElementTagNameMap[K] =>
  Object.assign(document.createElement(name), { textContent: text });

/** Writes text only where it differs, so that a screen reader does not read it again. */
export const say = (place: HTMLElement, text: string): void => {
  if (place.textContent !== text) place.textContent = text;
};

const SVG = "http://www.w3.org/2000/svg";

/** A drawing of one filled path, in a square of this many units. */
export const drawing = (path: string, units: number): SVGSVGElement => {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${units} ${units}`);
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
};
