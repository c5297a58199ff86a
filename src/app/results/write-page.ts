import type { CommandContext } from "../../commands/cli/command.js";
import { writeFileAtomically } from "../../platform/atomic-file.js";
import { htmlReport, type Report } from "../../reports/html/html-report.js";
import { readPageAssets } from "../../reports/html/page-assets.js";
import { count } from "../../reports/text/format-number.js";
import type { TraceStore } from "./trace-placement.js";

/** Writes a report as a page, with its conversations where the keeper has room for them, and says where they are. */
export async function writePage(
  report: Report,
  keeper: TraceStore,
  { output }: { readonly output?: string | undefined },
  { out, settings }: CommandContext,
): Promise<void> {
  const assets = readPageAssets();
  const traces = keeper.settle(bytesOf(htmlReport(report, assets, [])));
  const page = { ...report, head: { ...report.head, traces } };
  let bytes = 0;
  const pieces = measured(htmlReport(page, assets, keeper.embedded), (more) => {
    bytes += more;
  });
  if (output === undefined) {
    await out.pieces(pieces);
  } else {
    keeper.finish();
    await writeFileAtomically(output, pieces);
  }
  const { scores: _, ...head } = page.head;
  if (settings.json) {
    out.result({ ...head, output, bytes }, () => "");
    return;
  }
  const tasks = report.head.runs.reduce((sum, run) => sum + run.tasks, 0);
  const where = output === undefined ? "" : ` to ${output} (${megabytes(bytes)})`;
  out.note(
    `${count(tasks)} tasks written${where}; ${WHERE[traces.kind](traces.kind === "folder" ? traces.folder : "")}`,
  );
}

const WHERE = {
  embed: () => "their conversations are in the page.",
  folder: (folder: string) => `their conversations are in the folder ${folder} beside it: keep the two together.`,
  none: () => "without their conversations: art-e show RUN/TASK shows them.",
} as const;

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

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
