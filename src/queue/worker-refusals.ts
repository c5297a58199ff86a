import { isProvider } from "../models/model-names.js";
import { baseUrlOf, hasKey } from "../models/open-model.js";
import { type RequestExtras, variablesOf } from "../models/request-extras.js";
import type { Environment } from "../platform/environment.js";
import { trimEndOf } from "../platform/strings.js";
import type { IdentifiedSuite } from "../suites/suite.js";
import type { RunSettings } from "../traces/run-settings.js";
import type { RunManifest } from "./shared-state.js";

export interface WorkerTerms {
  readonly programVersion: string;
  /** Of its mail; null: it has none. */
  readonly corpusFingerprint: string | null;
  readonly db: string;
  /** Whose folder is here; null: none. */
  readonly suite: Pick<IdentifiedSuite, "name" | "digest"> | null;
  /** Programs and addresses that a run names may be used. */
  readonly allowPrograms: boolean;
  readonly env: Environment;
}

/** Code of tools that does not leave this program and its sandbox. */
const CONTAINED_HANDLERS: ReadonlySet<string> = new Set([
  "email_search",
  "email_get",
  "search_emails",
  "return_final_answer",
  "execute_python",
  "read_file",
  "write_file",
  "list_files",
  // These are in a task's machine, which is a sandbox.
  "run_shell",
  "run_notebook",
  "search_documents",
]);

/**
 * Why this worker does not answer a run; null where it does. A run is described by whoever can write to Redis: such a
 * person must neither run programs here nor learn the keys of this machine.
 */
export function refusalOf(manifest: RunManifest, terms: WorkerTerms): string | null {
  const { settings, tools } = manifest;
  if (manifest.programVersion !== terms.programVersion) {
    return `it was begun by art-e ${manifest.programVersion}, and this is ${terms.programVersion}`;
  }
  if (manifest.corpusFingerprint !== "" && manifest.corpusFingerprint !== terms.corpusFingerprint) {
    const here = terms.corpusFingerprint === null ? "has no mail" : `has ${shorten(terms.corpusFingerprint)}`;
    return `it asks about the mail ${shorten(manifest.corpusFingerprint)}, and ${terms.db} ${here}`;
  }
  const missing = suiteRefusal(manifest.suite, terms.suite);
  if (missing !== null) return missing;
  if (settings.elsewhere !== undefined) return "its agent is not one of this program";
  if (settings.model.startsWith("replay/")) return "its replies are in a file of another machine";
  const outside = tools.find(({ tool }) => !CONTAINED_HANDLERS.has(tool.handlerKey));
  if (outside !== undefined && !terms.allowPrograms) {
    return `its tool ${outside.tool.id} runs programs or asks other servers, which needs --allow-programs here`;
  }
  if (settings.unsafeHostPython && !terms.allowPrograms) {
    return "it runs Python outside of a sandbox, which needs --allow-programs here";
  }
  const { judge } = settings;
  const refused = addressRefusal(settings, terms.env);
  return judge === null ? refused : (refused ?? addressRefusal(judge, terms.env));
}

function suiteRefusal(wanted: RunManifest["suite"], own: WorkerTerms["suite"]): string | null {
  if (wanted === null) return null;
  if (own?.name !== wanted.name)
    return `its tasks are of the suite ${wanted.name}, whose folder is to be given with --suite`;
  return own.digest === wanted.digest
    ? null
    : `the tasks or files of its suite ${wanted.name} differ from the suite on this machine`;
}

/**
 * A key of this machine goes to its provider, or to the address that the environment here names, and so does a
 * variable that the run's headers or fields refer to.
 */
function addressRefusal(
  asked: Pick<RunSettings, "model" | "baseUrl"> & RequestExtras,
  env: Environment,
): string | null {
  const { model, baseUrl } = asked;
  const [provider = ""] = model.split("/");
  const [variable] = variablesOf(asked);
  if (baseUrl === null || !isProvider(provider) || (!hasKey(provider, env) && variable === undefined)) return null;
  const own = baseUrlOf(provider, undefined, env);
  if (own !== null && trimEndOf(own, "/") === trimEndOf(baseUrl, "/")) return null;
  const host = URL.parse(baseUrl)?.host ?? "an address that cannot be read";
  const secret = variable === undefined ? `the key for ${provider}` : `the variable ${variable}`;
  return `it asks ${host}, and ${secret} is only sent there if ${provider.toUpperCase()}_BASE_URL here names that address`;
}

export function shorten(fingerprint: string): string {
  return fingerprint === "" ? "(none)" : fingerprint.slice(0, 12);
}
