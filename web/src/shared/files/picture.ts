/** A picture of the page as a file of its own: with title and legend, and without the page's style sheets. */
import { saveFile } from "./save";

export interface LegendEntry {
  label: string;
  color: string;
  dash: readonly number[];
}

export interface PictureFile {
  title: string;
  legend: readonly LegendEntry[];
}

const SVG = "http://www.w3.org/2000/svg";
// what style sheets set in pictures
const STYLES = [
  ...[
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "stroke-dasharray",
    "stroke-linejoin",
  ],
  ...["opacity", "font-size", "font-weight", "text-anchor", "paint-order"],
];
const FONT = '"IBM Plex Sans", system-ui, sans-serif';
const [PAD, TITLE, ROW, SWATCH] = [16, 40, 20, 18];
const LETTER = 6.6; // about the width of a letter of 12 pixels
const MOST_ENTRIES = 60;
const SCALE = 2; // pixels of a PNG for each of the page

/** Return the picture as an SVG element that needs nothing else. */
export function standalone(picture: SVGSVGElement, { title, legend }: PictureFile): SVGSVGElement {
  const [width, height] = [numberOf(picture, "width"), numberOf(picture, "height")];
  const entries = placeEntries(legend.slice(0, MOST_ENTRIES), width);
  const rows = (entries.at(-1)?.row ?? -1) + 1;
  const total = { width: width + 2 * PAD, height: TITLE + height + rows * ROW + PAD };
  const svg = element("svg", { ...total, viewBox: `0 0 ${total.width} ${total.height}` });
  svg.setAttribute("font-family", FONT);
  const page = getComputedStyle(document.documentElement);
  const [surface, ink] = [page.getPropertyValue("--surface"), page.getPropertyValue("--ink")];
  svg.append(element("rect", { ...total, fill: surface }));
  svg.append(text(title, { x: PAD, y: 26, "font-size": 15, "font-weight": 600, fill: ink }));
  const copy = styledCopy(picture);
  copy.setAttribute("x", String(PAD));
  copy.setAttribute("y", String(TITLE));
  svg.append(copy);
  for (const { label, color, dash, at, row } of entries) {
    const y = TITLE + height + row * ROW + ROW / 2;
    const d = `M${PAD + at} ${y}h${SWATCH}`;
    svg.append(
      element("path", { d, stroke: color, "stroke-width": 2.25, "stroke-dasharray": dash.join(" ") }),
    );
    svg.append(text(label, { x: PAD + at + SWATCH + 6, y: y + 4, "font-size": 12, fill: ink }));
  }
  return svg as SVGSVGElement;
}

export function saveSvg(name: string, picture: SVGSVGElement, file: PictureFile): void {
  saveFile(`${name}.svg`, new Blob([svgText(standalone(picture, file))], { type: "image/svg+xml" }));
}

export async function savePng(name: string, picture: SVGSVGElement, file: PictureFile): Promise<void> {
  const svg = standalone(picture, file);
  const image = new Image();
  // a data address, because the service's policy has no other addresses of images
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [numberOf(svg, "width") * SCALE, numberOf(svg, "height") * SCALE];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const content = await new Promise<Blob | null>((resolve) => {
    canvas.toBlob(resolve, "image/png");
  });
  if (content) saveFile(`${name}.png`, content);
}

/** Return a picture as a data address: an SVG that needs nothing else. */
export function pictureAddress(picture: SVGSVGElement, file: PictureFile): string {
  return textAddress(svgText(standalone(picture, file)), "image/svg+xml");
}

function textAddress(content: string, type: string): string {
  const bytes = new TextEncoder().encode(content);
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `data:${type};base64,${btoa(letters)}`;
}

function svgText(svg: SVGSVGElement): string {
  return new XMLSerializer().serializeToString(svg);
}

/** Return a copy whose elements have their styles as attributes; parts that show the pointer are left out. */
function styledCopy(picture: SVGSVGElement): SVGSVGElement {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const originals = [...picture.querySelectorAll("*")];
  const copies = [...copy.querySelectorAll("*")];
  for (const [at, original] of originals.entries()) {
    const own = copies[at];
    if (!own) continue;
    const style = getComputedStyle(original);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      if (value) own.setAttribute(name, value);
    }
    own.removeAttribute("class");
    own.removeAttribute("style");
  }
  copy.removeAttribute("class");
  for (const pointer of copy.querySelectorAll("[data-pointer]")) pointer.remove();
  return copy;
}

interface PlacedEntry extends LegendEntry {
  at: number;
  row: number;
}

function placeEntries(legend: readonly LegendEntry[], width: number): PlacedEntry[] {
  let [at, row] = [0, 0];
  return legend.map((entry) => {
    const length = SWATCH + 6 + entry.label.length * LETTER + 18;
    if (at > 0 && at + length > width) [at, row] = [0, row + 1];
    const placed = { ...entry, at, row };
    at += length;
    return placed;
  });
}

export function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

export function text(content: string, attributes: Record<string, string | number>): SVGElement {
  const made = element("text", attributes);
  made.textContent = content;
  return made;
}

function numberOf(svg: SVGSVGElement, name: "width" | "height"): number {
  return Number(svg.getAttribute(name)) || svg.getBoundingClientRect()[name];
}
