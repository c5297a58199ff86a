import { basename } from "node:path";
import type { ReportHead } from "../../reports/page/report-data.js";
import { checkTraceFolder, TraceFolder, traceFolderOf } from "./trace-folder.js";

export const TRACE_PLACEMENTS = ["auto", "embed", "folder", "none"] as const;

export type TracePlacement = (typeof TRACE_PLACEMENTS)[number];

/** A page of up to so many bytes can be mailed and opens at once. */
export const PAGE_LIMIT = 5_000_000;

/**
 * Collects the conversations of a report: for the page, for a folder beside it, or not at all. With `auto` they are
 * buffered until they exceed the limit of a page, then written to the folder; where the page goes to stdout, they are
 * dropped instead.
 */
export class TraceStore {
  private readonly held: [key: string, packed: string][] = [];
  private heldBytes = 0;
  private folder: TraceFolder | null = null;
  private none = false;
  private readonly path: string | null;

  constructor(
    private readonly place: TracePlacement,
    output: string | undefined,
  ) {
    this.path = output === undefined ? null : traceFolderOf(output);
    this.none = place === "none";
    if (this.path !== null && (place === "auto" || place === "folder")) checkTraceFolder(this.path);
    if (place === "folder") this.spill();
  }

  get wantsNone(): boolean {
    return this.none;
  }

  add(key: string, packed: string): void {
    if (this.none) return;
    if (this.folder !== null) {
      this.folder.write(key, packed);
      return;
    }
    this.held.push([key, packed]);
    this.heldBytes += packed.length;
    if (this.place === "auto" && this.heldBytes > PAGE_LIMIT) this.spill();
  }

  /** Decides where the conversations go, given the size of the page without them. */
  settle(pageBytes: number): ReportHead["traces"] {
    if (this.place === "auto" && this.folder === null && this.heldBytes + pageBytes > PAGE_LIMIT) this.spill();
    if (this.folder !== null && this.path !== null) return { kind: "folder", folder: basename(this.path) };
    return { kind: this.none ? "none" : "embed" };
  }

  get embedded(): readonly (readonly [key: string, packed: string])[] {
    return this.held;
  }

  finish(): void {
    this.folder?.finish();
  }

  discard(): void {
    this.folder?.discard();
  }

  private spill(): void {
    if (this.path === null) this.none = true;
    else this.folder = new TraceFolder(this.path);
    for (const [key, packed] of this.held.splice(0)) this.folder?.write(key, packed);
  }
}
