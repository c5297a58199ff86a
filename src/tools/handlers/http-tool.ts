// Handler of tools that send an HTTP request built from their arguments.
import { z } from "zod";
import type { JsonObject, JsonValue } from "../../platform/json.js";
import { redact } from "../../platform/secrets.js";
import {
  defineExternalTool,
  fillInVariables,
  headersSchema,
  limitsShape,
  parseJsonText,
  requireFilled,
  secretsIn,
  ToolFailed,
} from "../external-tool.js";
import type { ToolRow } from "../tools-store.js";

const HTTP_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const PLACEHOLDER = /\{\{\s*([\w.-]+)\s*\}\}/g;

/** Methods that send arguments in the query instead of a body. */
const BODILESS = new Set<string>(["GET", "DELETE"]);

const config = z.strictObject({
  method: z.enum(HTTP_METHODS).default("GET"),
  /** `{{argument}}` is replaced with the URL-encoded argument. Only allowed in the path and query. */
  url: z
    .string()
    .min(1)
    .max(4_000)
    .superRefine((url, issues) => {
      const message = findUrlProblem(url);
      if (message !== null) issues.addIssue({ code: "custom", message });
    }),
  headers: headersSchema,
  /** Allows private, loopback and link-local addresses. */
  allowPrivate: z.boolean().default(false),
  ...limitsShape,
});

/**
 * Sends an HTTP request. Arguments that are not in the URL go into the query (GET, DELETE) or the JSON body (POST, PUT,
 * PATCH). A JSON response is parsed, and other text is returned as is. Status 400 and above is an error.
 */
export const httpTool = defineExternalTool({
  config,
  validate({ url }, tool) {
    const parameterNames = propertiesOf(tool);
    const unknown = placeholdersIn(url).find((name) => !parameterNames.includes(name));
    return unknown === undefined ? undefined : `its url contains {{${unknown}}}, which is not one of its parameters`;
  },
  secrets: ({ headers }, outside) => secretsIn(headers, outside.env),
  async call({ args, outside, signal, secrets }, { method, url, headers, allowPrivate, maxBytes }) {
    const filledHeaders = requireFilled(fillInVariables(headers, outside.env));
    const inUrl = new Set(placeholdersIn(url));
    const rest = Object.fromEntries(Object.entries(args).filter(([name]) => !inUrl.has(name)));
    const target = fillUrl(url, args);
    const sendsBody = !BODILESS.has(method);
    if (!sendsBody) for (const [name, value] of Object.entries(rest)) target.searchParams.append(name, asText(value));
    // Loaded on demand, because most programs that list tools never call an HTTP tool.
    const { guardedRequest, isPublicAddress } = await import("../../platform/guarded-fetch.js");
    const response = await guardedRequest(
      {
        method,
        url: target.href,
        headers: {
          accept: "application/json, text/*;q=0.9, */*;q=0.1",
          ...(sendsBody ? { "content-type": "application/json" } : {}),
          ...filledHeaders,
        },
        body: sendsBody ? JSON.stringify(rest) : null,
        maxBytes,
        allows: allowPrivate ? () => true : isPublicAddress,
        lookup: outside.lookup,
      },
      signal,
    );
    if (response.status >= 400) {
      const bodyText = redact(response.text.trim(), secrets).slice(0, 500);
      throw new ToolFailed(`The server returned status ${response.status}${bodyText === "" ? "" : `: ${bodyText}`}`);
    }
    if (/\bjson\b/i.test(response.contentType)) return parseJsonText(response.text, "The server's response", secrets);
    return response.text;
  },
});

function placeholdersIn(url: string): string[] {
  return [...url.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
}

function propertiesOf({ parametersSchema: { properties } }: ToolRow): string[] {
  return typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
}

/** Fills in the arguments. An argument must not change the host or leave its path segment. */
function fillUrl(template: string, args: JsonObject): URL {
  const text = template.replace(PLACEHOLDER, (_, name: string) => {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    return value === undefined ? "" : encodeURIComponent(asText(value));
  });
  const url = new URL(text);
  const path = /^[^/]*\/\/[^/?#]*([^?#]*)/.exec(text)?.[1] ?? "";
  if (path.split("/").some((part) => /^(\.|%2e){1,2}$/i.test(part))) {
    throw new ToolFailed("An argument adds . or .. to the path of the URL. The request was not sent.");
  }
  return url;
}

function asText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function findUrlProblem(template: string): string | null {
  const [a, b] = ["a", "b"].map((letter) => URL.parse(template.replace(PLACEHOLDER, letter)));
  if (a == null || b == null) return "expected a URL such as https://example.com/{{argument}}";
  if (a.protocol !== "https:" && a.protocol !== "http:") return "expected an http or https URL";
  if (a.username !== "" || a.password !== "")
    return `contains a user name or password. Use a header with \${ENV:NAME} instead`;
  if (a.origin !== b.origin || a.hash !== b.hash) return "can contain {{arguments}} only in its path and query";
  return null;
}
