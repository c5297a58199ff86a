import type { QuestionSet } from "../domain/tasks/question.js";
import type { HubRequest } from "../huggingface/hub-request.js";
import { loadHubRows } from "./hub-rows.js";
import { loadQuestionFile } from "./local-file.js";

export interface QuestionRequest extends HubRequest {
  /** A local file; null: the dataset of the hub. */
  readonly dataset: string | null;
  /** Use the JSON rows API of the hub instead of its Parquet file. */
  readonly useJson: boolean;
}

/**
 * The validated questions of one split, in the order of the dataset.
 * @throws UserError; the signal's reason where it aborts
 */
export async function loadQuestions(request: QuestionRequest, signal: AbortSignal): Promise<QuestionSet> {
  if (request.dataset !== null) return loadQuestionFile(request.dataset, request.split, signal);
  if (request.useJson) return loadHubRows(request, signal);
  const { loadHubParquet } = await import("./hub-parquet.js");
  return loadHubParquet(request, signal);
}
