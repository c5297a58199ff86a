// Where spans and scores are sent: the OTLP endpoint from the flag or the environment, with its keys.
import { type AddressedKey, type Environment, keyFor, refuseStrangeAddress } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { parseHttpUrl } from "../platform/http.js";
import type { RetryPolicy } from "../platform/retry-delay.js";

/** Destination of telemetry. */
export interface OtlpServer {
  readonly url: string;
  /** Headers, including the keys, which are never shown. */
  readonly headers: Readonly<Record<string, string>>;
  readonly retry: RetryPolicy;
}

const FLAG = "--otlp-endpoint";
const HEADERS = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/** Endpoint for traces only, used unchanged. */
const TRACES_ADDRESS: AddressedKey = { url: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", keys: HEADERS, flag: FLAG };
/** Endpoint for all telemetry. The path for traces is appended. */
const ADDRESS: AddressedKey = { url: "OTEL_EXPORTER_OTLP_ENDPOINT", keys: HEADERS, flag: FLAG };

const TRACES_PATH = "/v1/traces";

/** Servers with a separate API for scores, because they ignore score events in spans. */
export const SCORE_APIS = ["langfuse", "phoenix"] as const;

export type ScoreApi = (typeof SCORE_APIS)[number];

/**
 * Returns the server for spans, from the flag or OpenTelemetry's environment variables. Headers are only read from the
 * environment, so that no key ends up in the shell history.
 */
export function otlpServerOf(flag: string | undefined, env: Environment): Omit<OtlpServer, "retry"> {
  const traces = env[TRACES_ADDRESS.url] || null;
  const address = flag === undefined && traces !== null ? TRACES_ADDRESS : ADDRESS;
  const value = flag ?? traces ?? (env[ADDRESS.url] || null);
  if (value === null) {
    throw new UserError(
      "otlp_endpoint_missing",
      "Cannot send traces: no OTLP endpoint is set.",
      `Pass ${FLAG} URL, or set ${ADDRESS.url}.`,
    );
  }
  if (flag === undefined) refuseStrangeAddress(address, value, env);
  const name = flag === undefined ? address.url : FLAG;
  return { url: tracesUrl(value, name, address === ADDRESS), headers: headersOf(keyFor(address, value, env), env) };
}

function tracesUrl(value: string, name: string, isBase: boolean): string {
  const url = parseHttpUrl(value);
  if (url === null) {
    throw new UserError(
      "otlp_endpoint_invalid",
      `${name}: expected an http or https URL without a user name or password.`,
      "Use a URL such as http://localhost:6006. Put keys into OTEL_EXPORTER_OTLP_HEADERS.",
    );
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (isBase) url.pathname = path.endsWith(TRACES_PATH) ? path : `${path}${TRACES_PATH}`;
  url.hash = "";
  return url.href;
}

/** Parses `key=value,key=value` with percent-encoded values. */
function headersOf(headerText: string | null, env: Environment): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of (headerText ?? "").split(",")) {
    if (pair.trim() === "") continue;
    const at = pair.indexOf("=");
    const [name, value] = [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())];
    if (at < 1 || value === null || !isHeader(name, value)) throw unreadable(env);
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

function decoded(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

function isHeader(name: string, value: string): boolean {
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}

/** The message does not quote the value, because it contains keys. */
function unreadable(env: Environment): UserError {
  return new UserError(
    "otlp_headers_invalid",
    `Cannot read ${HEADERS.find((name) => env[name])}.`,
    "Write NAME=VALUE pairs separated by commas. In a value, write %2C for a comma and %20 for a space.",
  );
}
