import { tmpdir } from "node:os";
import { expect } from "vitest";
import { z } from "zod";
import { CorpusCopies } from "../../src/mail/corpus-transfer.js";
import type { JsonObject, JsonValue } from "../../src/platform/json.js";
import type { Access } from "../../src/server/access.js";
import type { Services } from "../../src/server/app/route.js";
import { ChatModels } from "../../src/server/chat/chat-models.js";
import { ChatLimits } from "../../src/server/chat-limits.js";
import { type Running, startServer } from "../../src/server/create-app.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { openExternalResources } from "../../src/tools/tool-connections.js";
import { openDemo, openWith, type TestDb } from "../runs/demo-setup.js";

/**
 * A server over the demo mail on its own port, and a client that checks every response against the OpenAPI document.
 */

export interface Changes {
  readonly access?: Partial<Access>;
  readonly services?: Partial<Services>;
  readonly maxChats?: number;
  /** Base URL for openai/... models. Without it, these models are unavailable. */
  readonly modelServer?: string;
  /** A source of mail instead of the demo's. */
  readonly mail?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
  readonly body: any;
}

export interface DemoServer {
  readonly url: string;
  readonly db: TestDb["db"];
  readonly chats: ChatLimits;
  readonly running: Running;
  /** Lines of the log. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly faults: readonly unknown[];
  /** Fails if the response does not match /openapi.json. */
  ask(method: string, path: string, body?: JsonValue, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  close(): Promise<void>;
}

export async function startDemoServer(changes: Changes = {}): Promise<DemoServer> {
  const test = await (changes.mail === undefined ? openDemo() : openWith(changes.mail));
  const outside = openExternalResources({});
  const log: Readonly<Record<string, unknown>>[] = [];
  const faults: unknown[] = [];
  const chats = new ChatLimits(changes.maxChats ?? 64);
  const access: Access = { host: "127.0.0.1", token: null, cors: null, ...changes.access };
  const running = await startServer(
    {
      db: test.db,
      version: "1.2.3",
      resources: { mailbox: openMailbox(test.db), outside },
      models: new ChatModels(
        (provider, recorded) => ({
          apiKey: null,
          baseUrl: recorded?.baseUrl ?? (provider === "openai" ? (changes.modelServer ?? null) : null),
          wireApi: recorded?.wireApi ?? null,
          timeoutMs: 60_000,
        }),
        "offline/baseline",
      ),
      chats,
      corpus: new CorpusCopies(test.db, tmpdir(), "1.2.3"),
      stream: { heartbeatMs: 15_000, stallMs: 60_000 },
      chatTimeoutMs: 60_000,
      live: null,
      allowPrograms: false,
      cacheDir: tmpdir(),
      report: (fault) => faults.push(fault),
      ...changes.services,
    },
    access,
    0,
    (line) => log.push(line),
  );
  const authorization = access.token === null ? {} : { authorization: `Bearer ${access.token}` };
  const document = await readDocument(running.url, authorization);
  return {
    url: running.url,
    db: test.db,
    chats,
    running,
    log,
    faults,
    async ask(method, path, body, headers = {}) {
      const response = await fetch(`${running.url}${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...authorization,
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const answer = {
        status: response.status,
        headers: response.headers,
        body: text === "" ? null : JSON.parse(text),
      };
      checkAgainst(document, method, path, answer);
      return answer;
    },
    async close() {
      await running.stop(0);
      await outside.close();
      test.close();
    },
  };
}

const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.json()) }))),
  components: z.looseObject({ schemas: z.record(z.string(), z.json()) }),
});

type OpenapiDocument = z.output<typeof documentSchema>;

async function readDocument(url: string, headers: Readonly<Record<string, string>>): Promise<OpenapiDocument> {
  return documentSchema.parse(await (await fetch(`${url}/openapi.json`, { headers })).json());
}

type Schema = Parameters<typeof z.fromJSONSchema>[0];

/** A path that the document does not contain must be refused. */
function checkAgainst(document: OpenapiDocument, method: string, path: string, { status, body }: Answer): void {
  const bare = path.split("?")[0] ?? "";
  const known = Object.keys(document.paths).find((template) =>
    new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(bare),
  );
  const operation = known === undefined ? undefined : document.paths[known]?.[method.toLowerCase()];
  if (operation === undefined || status >= 400) {
    expect(status, `${method} ${path}`).toBeGreaterThanOrEqual(400);
    const name = bare.startsWith("/v1/") ? "OpenAIError" : "Error";
    expectFits(document.components.schemas[name] as Schema, body, `${method} ${path}: error`);
    return;
  }
  expect(Object.keys(operation.responses), `${method} ${path}`).toContain(String(status));
  const response = operation.responses[String(status)] as { content?: Record<string, { schema: Schema }> };
  const schema = response.content?.["application/json"]?.schema;
  if (schema === undefined) expect(body, `${method} ${path}`).toBeNull();
  else expectFits(schema, body, `${method} ${path}`);
}

function expectFits(schema: Schema, body: unknown, what: string): void {
  const result = z.fromJSONSchema(schema).safeParse(body);
  expect(result.success ? [] : result.error.issues, what).toEqual([]);
}

/** Returns the data of every event, including `[DONE]`, parsed if it is JSON. Comments are left out. */
// biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
export async function eventsOf(response: Response): Promise<any[]> {
  const text = await response.text();
  return text
    .split("\n\n")
    .filter((event) => event.startsWith("data: "))
    .map((event) => event.slice("data: ".length))
    .map((data) => (data === "[DONE]" ? data : JSON.parse(data)));
}

export function openChat(url: string, agent: string, body: JsonObject, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/api/agents/${agent}/playground/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

export const says = (content: string) => ({ messages: [{ role: "user", content }] });
