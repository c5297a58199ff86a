import { ANSWERING_MODELS } from "../../models/catalog/default-models.js";
import { hasKey } from "./endpoints.js";
import type { Environment } from "./env-file.js";

const PROVIDERS = Object.keys(ANSWERING_MODELS) as (keyof typeof ANSWERING_MODELS)[];

/** The model that answers where none is named: of the first provider with a key. Null without a key. */
export function answeringModelOf(env: Environment): string | null {
  const provider = PROVIDERS.find((name) => hasKey(name, env));
  return provider === undefined ? null : ANSWERING_MODELS[provider];
}
