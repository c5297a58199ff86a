import type { Split } from "../domain/tasks/question.js";
import { datasetPage, type Hub, type OnProgress, QUESTIONS_DATASET } from "./hub.js";

/** Which questions of the hub's dataset, and where to cache them. */
export interface HubRequest {
  readonly split: Split;
  /** `revision`: a commit, branch or tag; a commit needs no network once its file is cached. */
  readonly hub: Hub & { readonly revision: string };
  readonly cacheDir: string;
  readonly onProgress?: OnProgress | undefined;
}

/** For the hint of an error. */
export function manualDownloadHint(hub: Hub): string {
  return `Or fetch the questions yourself from ${datasetPage(hub, QUESTIONS_DATASET)} and give the file: --dataset FILE.`;
}
