/** A picture of the page that is no SVG, such as bars and a heat map, as an SVG: its colored boxes and its texts. */
import { element, text } from "./picture";

/** Return the SVG picture inside an element, or the element itself as one. */
export function pictureIn(host: Element | null): SVGSVGElement | null {
  if (!host) return null;
  return host.querySelector<SVGSVGElement>("svg[data-picture]") ?? htmlPicture(host);
}

function htmlPicture(host: Element): SVGSVGElement {
  const { left, top, width, height } = host.getBoundingClientRect();
  const svg = element("svg", { width: Math.ceil(width), height: Math.ceil(height) });
  for (const part of [host, ...host.querySelectorAll("*")]) {
    const box = part.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1) continue; // a text for readers without the picture
    const style = getComputedStyle(part);
    if (style.visibility === "hidden" || style.opacity === "0") continue;
    if (part !== host && isSeen(style.backgroundColor)) svg.append(rectOf(box, style, left, top));
    for (const node of part.childNodes)
      if (node instanceof Text) svg.append(...linesOf(node, style, left, top));
  }
  return svg as SVGSVGElement;
}

function isSeen(color: string): boolean {
  return color !== "transparent" && !/^rgba\(.*, 0\)$/.test(color) && color !== "";
}

function rectOf(box: DOMRect, style: CSSStyleDeclaration, left: number, top: number): SVGElement {
  const radius = style.borderTopLeftRadius;
  const rx = radius.endsWith("%") ? (box.width * parseFloat(radius)) / 100 : parseFloat(radius) || 0;
  const { width, height } = box;
  const place = { x: box.left - left, y: box.top - top, width, height, rx };
  return element("rect", { ...place, fill: style.backgroundColor, opacity: style.opacity });
}

/** Return a text for each line in which the page has set the words of a node. */
function linesOf(node: Text, style: CSSStyleDeclaration, left: number, top: number): SVGElement[] {
  const lines: { words: string[]; box: DOMRect }[] = [];
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const box = range.getBoundingClientRect();
    const line = lines.at(-1);
    if (line && Math.abs(line.box.top - box.top) < 2) line.words.push(word);
    else lines.push({ words: [word], box });
  }
  return lines.map(({ words, box }) =>
    text(words.join(" "), {
      x: box.left - left,
      y: box.top - top + box.height * 0.78, // about the base line
      fill: style.color,
      "font-size": parseFloat(style.fontSize),
      "font-weight": style.fontWeight,
    }),
  );
}
