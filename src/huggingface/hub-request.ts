import type { Split } from "../domain/tasks/question.js";
import type { DownloadHints } from "../platform/download/download-errors.js";
import type { OnProgress } from "../platform/download/range-download.js";
import { QUESTIONS_DATASET } from "./dataset-names.js";
import { datasetPage, type Hub } from "./hub.js";
import { hubHints } from "./hub-hints.js";

/** Which questions of the hub's dataset, and where to cache them. */
export interface HubRequest {
  readonly split: Split;
  /** `revision`: a commit, branch or tag; a commit needs no network once its file is cached. */
  readonly hub: Hub & { readonly revision: string };
  readonly cacheDir: string;
  readonly onProgress?: OnProgress | undefined;
}

/** For a failed download of the questions. */
export function questionHints(hub: Hub): DownloadHints {
  return hubHints(
    `Or fetch the questions yourself from ${datasetPage(hub, QUESTIONS_DATASET)} and give the file: --dataset FILE.`,
  );
}
