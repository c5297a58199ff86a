/**
 * An element. Texts become text nodes, never markup: what is shown here comes from mail and from models.
 * `on…` are listeners, `class` and `aria-…` attributes; undefined, null and false leave an attribute out.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.flat(Number.POSITIVE_INFINITY).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Text from outside: in the direction of its own first letters, and kept from turning what stands around it. */
export function outside(tag, text, className = "") {
  return el(tag, { class: className, dir: "auto" }, text ?? "");
}

/** A table; a cell is a text or an element. */
export function table(caption, heads, rows) {
  return el(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 },
    el(
      "table",
      {},
      el("caption", { class: "hidden" }, caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map((head) => el("th", { scope: "col" }, head)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((cells) =>
          el(
            "tr",
            {},
            cells.map((cell) => el("td", {}, cell)),
          ),
        ),
      ),
    ),
  );
}

/** `2001-05-14T10:00:00Z` -> `2001-05-14 10:00` */
export function when(iso) {
  return iso ? iso.slice(0, 16).replace("T", " ") : "no date";
}

export function duration(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function share(value) {
  return typeof value === "number" ? value.toFixed(3) : "–";
}

/** A thumb, up or down. Drawn, because not every system has a letter for it. */
export function thumb(isUp) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 24 24", width: 18, height: 18, "aria-hidden": "true" })) {
    svg.setAttribute(name, value);
  }
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("fill", "currentColor");
  path.setAttribute(
    "d",
    "M2 10h4v11H2zm6 0 5-8c1.6 0 2.6 1.2 2.3 2.8L14.6 9H20c1.3 0 2.3 1.2 2 2.5l-1.7 7.6A2.5 2.5 0 0 1 17.9 21H8z",
  );
  if (!isUp) path.setAttribute("transform", "rotate(180 12 12)");
  svg.append(path);
  return svg;
}

/** What went wrong, where a view would have been. */
export function failure(error) {
  return el("p", { class: "notice bad", role: "alert" }, error.message);
}
