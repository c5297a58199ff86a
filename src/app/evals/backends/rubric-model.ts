import { join } from "node:path";
import type { Model } from "../../../domain/models/model.js";
import { type JsonFileCache, openJsonFileCache } from "../../../models/middleware/json-file-cache.js";
import { parseModelName } from "../../../models/model-name.js";
import { JUDGE_TIMEOUT_MS } from "../../score/create-judge.js";
import { serverOf } from "../../settings/endpoints.js";
import { openModel } from "../../settings/open-model.js";
import type { AppSettings } from "../../use-case-context.js";

/** A model that reads rubrics, and where it lives. */
export interface RubricModel {
  readonly model: Model;
  /** Null: the provider's own server. */
  readonly server: string | null;
}

/** The model that an eval names, at its provider or where the environment says. Throws a UserError without a key. */
export async function openRubricModel(modelId: string, settings: AppSettings): Promise<RubricModel> {
  const name = parseModelName(modelId, null);
  const server = serverOf(name.provider, undefined, settings.env);
  const { model } = await openModel(name, { server, timeoutMs: JUDGE_TIMEOUT_MS }, settings);
  return { model, server };
}

/** What rubrics gave before, beside the judge's verdicts. */
export function rubricCache({ cacheDir }: AppSettings): JsonFileCache {
  return openJsonFileCache(join(cacheDir, "verdicts"));
}
