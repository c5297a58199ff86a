// The environment server's HTTP routes. They describe the environment and its tasks, and have no sessions.
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import { jsonDepth, MAX_JSON_DEPTH } from "../../platform/json.js";
import { NoSuchTask, type TrainingEnvironment } from "../../training/environment.js";
import type { Env } from "../app/route.js";
import { accessCheck } from "./openenv-access.js";
import type { McpEndpoint } from "./openenv-mcp.js";
import {
  actionJsonSchema,
  issuesOf,
  type OpenEnvOptions,
  observationJsonSchema,
  Refused,
  readAction,
  readReset,
  resetObservation,
  resetSchema,
  stateJsonSchema,
  stepObservation,
  toolsObservation,
} from "./openenv-sessions.js";

/** Routes without sessions: the environment, its tasks, and MCP. */
export function httpApp(environment: TrainingEnvironment, mcp: McpEndpoint, options: OpenEnvOptions): Hono<Env> {
  const app = new Hono<Env>();
  app.use(refuseOthers(options.access));
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError: () => detail(413, "The body is too large") }));
  app.get("/health", (c) => c.json({ status: "healthy" }));
  app.get("/metadata", (c) => c.json(metadataOf(environment, options.version)));
  app.get("/schema", (c) =>
    c.json({ action: actionJsonSchema, observation: observationJsonSchema, state: stateJsonSchema }),
  );
  app.get("/openapi.json", (c) => c.json(openapi(environment, options.version)));
  app.get("/state", (c) => c.json({ episode_id: null, step_count: 0 }));
  app.post("/reset", async (c) => {
    const { request, ignored } = readReset(await readBody(c, resetSchema));
    const episode = await environment.begin(request, false);
    await episode.episode.interrupt("HTTP does not support episodes.");
    return c.json(resetObservation(episode, ignored));
  });
  app.post("/step", async (c) => {
    const action = readAction((await readBody(c, stepBodySchema)).action);
    if (action.type === "list_tools") return c.json(toolsObservation(environment.tools));
    const error = "HTTP does not support episodes. Use the WebSocket at /ws.";
    const result = { ok: false, kind: "failed", error } as const;
    const step = { result, text: error, reward: 0, done: false, end: null };
    return c.json(stepObservation(action.tool_name, step, 0));
  });
  app.post("/mcp", async (c) => mcp.post(await c.req.text(), c.req.header("mcp-session-id"), c.req.query()));
  app.delete("/mcp", (c) => mcp.delete(c.req.header("mcp-session-id")));
  addTaskApi(app, environment);
  for (const path of ["/health", "/metadata", "/schema", "/openapi.json", "/state", "/reset", "/step", "/mcp"]) {
    app.all(path, () => detail(405, "Method Not Allowed"));
  }
  app.notFound(() => detail(404, "Not Found"));
  app.onError((error) => {
    if (error instanceof HTTPException) return error.getResponse();
    if (error instanceof NoSuchTask) return detail(400, error.message);
    if (error instanceof Refused) return detail(422, error.details.errors);
    options.report(error, "http");
    return detail(500, "Internal Server Error");
  });
  return app;
}

/** Lists the tasks, for trainers that build datasets from them. */
function addTaskApi(app: Hono<Env>, environment: TrainingEnvironment): void {
  app.get("/list_environments", (c) => c.json([environment.name]));
  app.use("/:env/:what{splits|tasks|num_tasks|task|task_range}", (c, next) => {
    const { env } = c.req.param();
    if (env.toLowerCase().replaceAll("_", "-") === environment.name) return next();
    throw refused(404, `Unknown environment "${env.slice(0, 100)}". Available: ${environment.name}.`);
  });
  app.get("/:env/splits", (c) => c.json(environment.splits.map(({ name }) => ({ name, type: name }))));
  const tasks = (split: string, start: number, stop: number) =>
    Array.from({ length: Math.min(MAX_TASKS, Math.max(0, stop - start)) }, (_, i) =>
      environment.task(split, start + i),
    );
  const ofSplit = z.looseObject({ split: z.string() });
  app.post("/:env/tasks", async (c) => {
    const { split } = await readBody(c, ofSplit);
    return c.json({ tasks: tasks(split, 0, environment.countTasks(split)), env_name: environment.name });
  });
  app.post("/:env/num_tasks", async (c) => {
    const { split } = await readBody(c, ofSplit);
    return c.json({ num_tasks: environment.countTasks(split) });
  });
  app.post("/:env/task", async (c) => {
    const { split, index } = await readBody(c, ofSplit.extend({ index: z.int() }));
    return c.json({ task: environment.task(split, index) });
  });
  const range = ofSplit.extend({ start: z.int().nullish(), stop: z.int().nullish() });
  app.post("/:env/task_range", async (c) => {
    const { split, start, stop } = await readBody(c, range);
    const all = environment.countTasks(split);
    return c.json({ tasks: tasks(split, sliceEnd(start ?? 0, all), sliceEnd(stop ?? all, all)) });
  });
}

/** Resolves a slice index like Python: negative values count from the end, and the result is within the list. */
function sliceEnd(at: number, length: number): number {
  return Math.min(length, Math.max(0, at < 0 ? length + at : at));
}

function refuseOthers(access: OpenEnvOptions["access"]): MiddlewareHandler<Env> {
  const check = accessCheck(access);
  return async (c, next) => {
    const status = check((name) => c.req.header(name));
    if (status === 401)
      return detail(401, "Missing or wrong token. Send Authorization: Bearer TOKEN", { "www-authenticate": "Bearer" });
    if (status === 403) return detail(403, "This server only accepts requests from this machine");
    return next();
  };
}

function detail(status: number, what: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json({ detail: what }, { status, headers });
}

function refused(status: 404 | 422, what: unknown): HTTPException {
  return new HTTPException(status, { res: detail(status, what) });
}

/** An empty body counts as an empty object. */
async function readBody<T extends z.ZodType>(c: Context<Env>, schema: T): Promise<z.output<T>> {
  const body = parseJson((await c.req.text()) || "{}");
  const read = schema.safeParse(body);
  if (!read.success) throw refused(422, issuesOf(read.error, body, ["body"]));
  return read.data;
}

function parseJson(text: string): unknown {
  const issue = { type: "json_invalid", loc: ["body"], msg: "JSON decode error", input: {} };
  if (jsonDepth(text) > MAX_JSON_DEPTH) {
    throw refused(422, [{ ...issue, msg: `nested more than ${MAX_JSON_DEPTH} deep` }]);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw refused(422, [issue]);
  }
}

function metadataOf({ name, splits }: TrainingEnvironment, version: string) {
  const counts = splits.map((split) => `${split.tasks} ${split.name}`).join(", ");
  return {
    name,
    description: `Questions about a person's mailbox (${counts}), answered by searching and reading its email.`,
    readme_content: null,
    version,
    author: null,
    documentation_url: null,
  };
}

/** The parts of an OpenAPI document that `openenv validate` reads: the protocol version and the paths. */
function openapi(environment: TrainingEnvironment, version: string) {
  const { description } = metadataOf(environment, version);
  const operation = (summary: string) => ({
    summary,
    responses: { 200: { description: "Done", content: { "application/json": { schema: { type: "object" } } } } },
  });
  const get = (summary: string) => ({ get: operation(summary) });
  const post = (summary: string) => ({
    post: { ...operation(summary), requestBody: { content: { "application/json": { schema: { type: "object" } } } } },
  });
  return {
    openapi: "3.1.0",
    // Version of the protocol's HTTP interface, which its validator checks.
    info: { title: "OpenEnv Environment HTTP API", description, version: "1.0.0" },
    paths: {
      "/health": get("Server health"),
      "/metadata": get("Name and description"),
      "/schema": get("JSON schemas of actions, observations and state"),
      "/state": get("State of an environment without an episode, because HTTP has no sessions"),
      "/reset": post("Start of an episode that is not stored, because HTTP has no sessions"),
      "/step": post("list_tools only, because episodes use /ws"),
      "/mcp": post("JSON-RPC: OpenEnv's methods, and MCP over streamable HTTP"),
      "/list_environments": get("Names of environments"),
      "/{env}/splits": get("Splits of the dataset"),
      "/{env}/tasks": post("Tasks of a split"),
      "/{env}/num_tasks": post("Number of tasks in a split"),
      "/{env}/task": post("The task with an index"),
      "/{env}/task_range": post("Tasks from one index to another"),
    },
  };
}

const stepBodySchema = z.looseObject({
  action: z.unknown(),
  timeout_s: z.number().positive().nullish(),
  request_id: z.string().max(255).nullish(),
});

const MAX_BODY_BYTES = 4_000_000;

/** Maximum number of tasks per answer. */
const MAX_TASKS = 10_000;
