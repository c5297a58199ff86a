import { writeFileAtomically } from "../../platform/atomic-file.js";
import { htmlReport, type Report } from "../../reports/html/html-report.js";
import { readPageAssets } from "../../reports/html/page-assets.js";
import type { ReportHead } from "../../reports/page/report-data.js";
import type { TraceStore } from "./report-conversations.js";

export interface WrittenPage {
  readonly head: ReportHead;
  readonly bytes: number;
}

/** Writes a report as a page: to a file, or piece by piece to `write`. */
export async function writePage(
  report: Report,
  traceStore: TraceStore,
  output: string | undefined,
  write: (pieces: Iterable<string>) => Promise<void>,
): Promise<WrittenPage> {
  const assets = readPageAssets();
  const traces = traceStore.settle(bytesOf(htmlReport(report, assets, [])));
  const page = { ...report, head: { ...report.head, traces } };
  let bytes = 0;
  const pieces = measured(htmlReport(page, assets, traceStore.embedded), (more) => {
    bytes += more;
  });
  if (output === undefined) {
    await write(pieces);
  } else {
    traceStore.finish();
    await writeFileAtomically(output, pieces);
  }
  return { head: page.head, bytes };
}

function bytesOf(pieces: Iterable<string>): number {
  let bytes = 0;
  for (const piece of pieces) bytes += Buffer.byteLength(piece);
  return bytes;
}

function* measured(pieces: Iterable<string>, onBytes: (bytes: number) => void): Generator<string> {
  for (const piece of pieces) {
    onBytes(Buffer.byteLength(piece));
    yield piece;
  }
}
