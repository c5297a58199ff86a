import { type AddressedKey, type Environment, keyFor, refuseStrangeAddress } from "../platform/environment.js";
import { UserError } from "../platform/errors.js";
import { parseHttpUrl } from "../platform/http.js";
import type { RetryPolicy } from "../platform/retry-delay.js";

const FLAG = "--otlp-endpoint";
const HEADERS = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/** Of traces alone, taken as it is. */
const TRACES_ADDRESS: AddressedKey = { url: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", keys: HEADERS, flag: FLAG };
/** Of all telemetry: traces have a path below it. */
const ADDRESS: AddressedKey = { url: "OTEL_EXPORTER_OTLP_ENDPOINT", keys: HEADERS, flag: FLAG };

const TRACES_PATH = "/v1/traces";

/**
 * The server that spans are sent to: of the flag, else of OpenTelemetry's variables, with its headers from the
 * environment only, so that no shell history has the keys.
 */
export function otlpServerOf(flag: string | undefined, env: Environment): Omit<OtlpServer, "retry"> {
  const traces = env[TRACES_ADDRESS.url] || null;
  const address = flag === undefined && traces !== null ? TRACES_ADDRESS : ADDRESS;
  const value = flag ?? traces ?? (env[ADDRESS.url] || null);
  if (value === null) {
    throw new UserError(
      "otlp_no_endpoint",
      "There is no address to send traces to.",
      `Give it with ${FLAG} URL, or set ${ADDRESS.url}.`,
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
      "otlp_bad_endpoint",
      `${name} is no http or https address without user name and password.`,
      "For example http://localhost:6006; keys go into OTEL_EXPORTER_OTLP_HEADERS.",
    );
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (isBase && !path.endsWith(TRACES_PATH)) url.pathname = `${path}${TRACES_PATH}`;
  url.hash = "";
  return url.href;
}

/** `key=value,key=value`, the values percent-encoded where they need it. */
function headersOf(written: string | null, env: Environment): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of (written ?? "").split(",")) {
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

/** Says nothing of what stands there: it holds keys. */
function unreadable(env: Environment): UserError {
  return new UserError(
    "otlp_bad_headers",
    `${HEADERS.find((name) => env[name])} cannot be read.`,
    "Write NAME=VALUE, with a comma between two of them, and %XX for a comma or a space within a value.",
  );
}

/** Servers that take scores beside spans, as they do not take them from the spans' events. */
export const SCORE_APIS = ["langfuse", "phoenix"] as const;

export type ScoreApi = (typeof SCORE_APIS)[number];

/** Where telemetry goes. */
export interface OtlpServer {
  readonly url: string;
  /** With the keys, which are never shown. */
  readonly headers: Readonly<Record<string, string>>;
  readonly retry: RetryPolicy;
}
