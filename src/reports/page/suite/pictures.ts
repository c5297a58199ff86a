import { count } from "../../text/format-number.js";
import type { TraceView } from "../report-data.js";
import type { PictureView } from "../report-suite.js";
import { type Child, h, untrustedInline } from "../shared/dom.js";

/** The pictures that the agent left; none where it left none. */
export function pictureColumn({ pictures, omitted }: NonNullable<TraceView["left"]>): Child[] {
  if (pictures.length + omitted === 0) return [];
  return [
    h("h3", {}, "Pictures it left"),
    ...pictures.map(pictureFigure),
    omitted === 0 ? null : h("p", { class: "meta" }, `Not kept, as they are too many or too large: ${count(omitted)}`),
  ];
}

function pictureFigure({ path, cell, width, height, data }: PictureView): HTMLElement {
  const name = cell === null ? path : `${path}, cell ${cell}`;
  return h(
    "figure",
    { class: "picture" },
    h("img", { src: `data:image/png;base64,${data}`, alt: name, width, height, loading: "lazy" }),
    h("figcaption", {}, untrustedInline(name), ` · ${width} × ${height}`),
  );
}
