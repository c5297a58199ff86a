import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../domain/errors.js";
import type { QuestionSet, Split } from "../domain/tasks/question.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../huggingface/dataset-names.js";
import { fileUrl, resolveRevision } from "../huggingface/hub.js";
import { type HubRequest, questionHints } from "../huggingface/hub-request.js";
import { withDownloadHint } from "../platform/download/download-errors.js";
import { downloadFile } from "../platform/download/download-file.js";
import { authorization } from "../platform/download/http-get.js";
import { parquetRows } from "./parquet-rows.js";
import { validateQuestions } from "./validate-questions.js";

/** File sizes at `QUESTIONS_REVISION`. */
const SIZES: Readonly<Record<Split, number>> = { train: 7_954_326, test: 267_520 };

/** Questions from the dataset's Parquet file, cached in `<cacheDir>/<dataset>/<commit>/`. */
export async function loadHubParquet(request: HubRequest, signal: AbortSignal): Promise<QuestionSet> {
  const { split, hub, cacheDir } = request;
  const hints = questionHints(hub);
  const revision = await withDownloadHint(`revision ${hub.revision} of ${QUESTIONS_DATASET}`, hints, () =>
    resolveRevision(hub, QUESTIONS_DATASET, hub.revision, signal),
  );
  const name = `${split}-00000-of-00001.parquet`;
  const target = join(cacheDir, QUESTIONS_DATASET, revision, name);
  const { sha256 } = await downloadFile({
    url: fileUrl(hub, QUESTIONS_DATASET, revision, `data/${name}`),
    headers: authorization(hub.token),
    target,
    revision,
    expectedSize: revision === QUESTIONS_REVISION ? SIZES[split] : undefined,
    magic: "PAR1",
    retry: hub.retry,
    onProgress: request.onProgress,
    signal,
    hints,
  });
  const rows = await parquetRows(await readFile(target)).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UserError("questions_unreadable", `could not read ${target}: ${reason}`, hints.manual, undefined, {
      cause,
    });
  });
  const checked = validateQuestions(rows, { name: target, wanted: split, unmarked: split });
  return { source: `${QUESTIONS_DATASET}@${revision}`, revision, sha256, ...checked };
}
