// Why a worker refuses a run. A run in Redis is hostile input.
import { baseUrlOf, hasKey } from "../../models/connections.js";
import { isProvider } from "../../models/model-names.js";
import { type RequestExtras, variablesOf } from "../../models/request-extras.js";
import type { Environment } from "../../platform/environment.js";
import { trimEndOf } from "../../platform/trim-end.js";
import type { IdentifiedSuite } from "../../suites/suite.js";
import { isContained } from "../../tools/load-tools.js";
import type { OwnRunSettings } from "../../traces/run-settings.js";
import { isSameVersion, otherVersion, type RunManifest } from "./shared-state.js";

export interface WorkerTerms {
  /** Fingerprint of the worker's mail, or null if it has no mail. */
  readonly corpusFingerprint: string | null;
  readonly db: string;
  /** The suite in the worker's folder, or null if it has none. */
  readonly suite: Pick<IdentifiedSuite, "name" | "digest"> | null;
  /** Whether the worker may use programs and URLs from a run. */
  readonly allowPrograms: boolean;
  readonly env: Environment;
}

/**
 * Returns why this worker refuses a run, or null if it accepts it. Anyone who can write to Redis can describe a run,
 * and must neither run programs on this machine nor learn its keys.
 */
export function refusalOf(manifest: RunManifest, terms: WorkerTerms): string | null {
  const { settings, tools } = manifest;
  if (!isSameVersion(manifest)) return otherVersion(manifest);
  if (manifest.corpusFingerprint !== "" && manifest.corpusFingerprint !== terms.corpusFingerprint) {
    const here =
      terms.corpusFingerprint === null ? "does not contain mail" : `contains ${shorten(terms.corpusFingerprint)}`;
    return `it requires the mail ${shorten(manifest.corpusFingerprint)}, and ${terms.db} ${here}`;
  }
  const missing = suiteRefusal(manifest.suite, terms.suite);
  if (missing !== null) return missing;
  if (settings.model.startsWith("replay/")) return "its replies are in a file on another machine";
  const outside = tools.find(({ tool }) => !isContained(tool));
  if (outside !== undefined && !terms.allowPrograms) {
    return `its tool ${outside.tool.id} runs programs or calls other servers, which requires --allow-programs on this worker`;
  }
  if (settings.unsafeHostPython && !terms.allowPrograms) {
    return "it runs Python outside of a sandbox, which requires --allow-programs on this worker";
  }
  const { judge } = settings;
  const refusal = addressRefusal(settings, terms.env);
  return judge === null ? refusal : (refusal ?? addressRefusal(judge, terms.env));
}

function suiteRefusal(required: RunManifest["suite"], own: WorkerTerms["suite"]): string | null {
  if (required === null) return null;
  if (own?.name !== required.name)
    return `its tasks belong to the suite ${required.name}: pass that suite's folder with --suite`;
  return own.digest === required.digest
    ? null
    : `the tasks or files of its suite ${required.name} differ from the suite on this machine`;
}

/**
 * Returns why a model's URL is refused, or null. A key of this machine, and a variable used in the run's headers or
 * fields, is sent only to its provider, or to the base URL in this machine's environment.
 */
function addressRefusal(
  requested: Pick<OwnRunSettings, "model" | "baseUrl"> & RequestExtras,
  env: Environment,
): string | null {
  const { model, baseUrl } = requested;
  const [provider = ""] = model.split("/");
  const [variable] = variablesOf(requested);
  if (baseUrl === null || !isProvider(provider) || (!hasKey(provider, env) && variable === undefined)) return null;
  const own = baseUrlOf(provider, undefined, env);
  if (own !== null && trimEndOf(own, "/") === trimEndOf(baseUrl, "/")) return null;
  const host = URL.parse(baseUrl)?.host ?? "an invalid URL";
  const secret = variable === undefined ? `its key for ${provider}` : `the variable ${variable}`;
  return `it calls ${host}, but this worker sends ${secret} there only if its ${provider.toUpperCase()}_BASE_URL is that URL`;
}

export function shorten(fingerprint: string): string {
  return fingerprint === "" ? "(none)" : fingerprint.slice(0, 12);
}
