import { posix } from "node:path";
import { unzipSync } from "fflate";
import { findChildren, parseXml, type XmlNode } from "./xml.js";

const MAX_PART_BYTES = 128 * 1024 * 1024;
const MAX_TOTAL_BYTES = 256 * 1024 * 1024;
const MAX_PARTS = 10_000;

export interface Relationship {
  readonly id: string;
  /** The last word of its type: worksheet, drawing, chart, pivotTable. */
  readonly type: string;
  /** Name of the part it leads to. */
  readonly target: string;
}

/** The parts of a workbook's file, by name. */
export class XlsxPackage {
  readonly #parts: Readonly<Record<string, Uint8Array>>;

  /** A zip whose contents are too large is refused before it is unpacked. */
  constructor(bytes: Uint8Array) {
    let total = 0;
    let count = 0;
    this.#parts = unzipSync(bytes, {
      filter: ({ name, originalSize }) => {
        if (!/\.(xml|rels)$/.test(name)) return false;
        total += originalSize;
        count++;
        if (originalSize > MAX_PART_BYTES || total > MAX_TOTAL_BYTES || count > MAX_PARTS) {
          throw new Error("the workbook is too large when unpacked");
        }
        return true;
      },
    });
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#parts, name);
  }

  /** Throws where there is no such part. */
  read(name: string): XmlNode {
    const part = this.has(name) ? this.#parts[name] : undefined;
    if (part === undefined) throw new Error(`the workbook has no part ${name}`);
    return parseXml(part);
  }

  /** What a part leads to inside the file, in the order of its list. */
  relationshipsOf(name: string): readonly Relationship[] {
    const folder = posix.dirname(name);
    const path = posix.join(folder, "_rels", `${posix.basename(name)}.rels`);
    if (!this.has(path)) return [];
    return findChildren(this.read(path), "Relationship")
      .filter(({ attributes }) => attributes.TargetMode !== "External")
      .map(({ attributes: { Id: id = "", Type: type = "", Target: target = "" } }) => ({
        id,
        type: posix.basename(type),
        target: target.startsWith("/") ? target.slice(1) : posix.normalize(posix.join(folder, target)),
      }));
  }
}
