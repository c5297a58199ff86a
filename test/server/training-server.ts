import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import WebSocket from "ws";
import type { AppContext } from "../../src/platform/app-context.js";
import type { OpenEnvOptions } from "../../src/server/openenv/openenv-sessions.js";
import { serveOpenEnv } from "../../src/server/openenv.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { iterateResults } from "../../src/traces/results-store.js";
import { listRuns } from "../../src/traces/run-list.js";
import type { TaskResult } from "../../src/traces/task-result.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { iterateTraces } from "../../src/traces/traces-store.js";
import { type EnvironmentOptions, withTrainingEnvironment } from "../../src/training/environment.js";

/** The training environment over the demo mail. */

const ROOT = join(import.meta.dirname, "../..");
export const DEMO_QUESTIONS = join(ROOT, "fixtures/demo/questions.jsonl");

interface Changes {
  readonly options?: Partial<EnvironmentOptions>;
  readonly serving?: Partial<OpenEnvOptions>;
  readonly env?: Readonly<Record<string, string>>;
  /** Database of an earlier server, which this one continues to use. */
  readonly file?: string;
}

export interface TrainingServer {
  readonly url: string;
  readonly file: string;
  readonly faults: readonly unknown[];
  readonly notes: readonly string[];
  /** Stops the server. Its database remains for `stored` until `remove`. */
  stop(): Promise<void>;
  stored(): StoredRun[];
  remove(): void;
}

interface StoredRun {
  readonly name: string | null;
  readonly totalTasks: number;
  readonly status: string;
  readonly results: TaskResult[];
  readonly traces: QuestionTrace[];
}

export async function startTrainingServer({ options, serving, env = {}, file }: Changes = {}): Promise<TrainingServer> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-env-"));
  const path = file ?? join(folder, "art-e.db");
  if (file === undefined) copyFileSync(inject("demoDatabase"), path);
  const faults: unknown[] = [];
  const notes: string[] = [];
  const never = new AbortController().signal;
  const context: AppContext = {
    settings: { db: path, cacheDir: join(folder, "cache"), agentStderr: null, env },
    note: (text) => notes.push(text),
    progress: () => ({ update() {}, stop() {} }),
    signal: never,
    untilSecond: () => never,
  };
  let stopNow: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => {
    stopNow = resolve;
  });
  let url = "";
  let ended: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    ended = withTrainingEnvironment({ ...OPTIONS, ...options }, context, async (environment) => {
      const running = await serveOpenEnv(environment, {
        access: { host: "127.0.0.1", token: null },
        port: 0,
        maxSessions: 64,
        idleMs: 600_000,
        version: "1.2.3",
        report: (fault) => faults.push(fault),
        ...serving,
      });
      url = running.url;
      resolve();
      await stopped;
      await running.stop(1_000);
    });
    ended.catch(reject);
  });
  return {
    url,
    file: path,
    faults,
    notes,
    async stop() {
      stopNow();
      await ended;
    },
    stored: () => readRuns(path),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const OPTIONS: EnvironmentOptions = {
  dataset: DEMO_QUESTIONS,
  split: undefined,
  useJson: false,
  limit: 0,
  excludeKnownBad: false,
  shuffle: false,
  agent: "email-search",
  model: "policy",
  reward: "semanticScore",
  collateralWeight: 0.1,
  hijackedWeight: 1,
  judgeTimeout: 45,
  noJudge: false,
  save: true,
  episodeTimeout: 3_600,
  maxSessions: 64,
  cutoff: "query_date",
  partialInboxes: false,
};

function readRuns(path: string): StoredRun[] {
  const db: Db = openStore(path, { mustExist: true });
  try {
    return listRuns(db).map(({ id, name, totalTasks, status }) => ({
      name,
      totalTasks,
      status,
      results: [...iterateResults(db, id)],
      traces: [...iterateTraces(db, { runId: id })] as QuestionTrace[],
    }));
  } finally {
    db.close();
  }
}

/** A message from the server, as tests read it. */
interface Answer {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests check every field that they read.
  readonly data: any;
}

export interface Client {
  readonly socket: WebSocket;
  /** Sends a message as JSON, or a string unchanged, and waits for the next answer. */
  ask(message: object | string): Promise<Answer>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  reset(data?: object): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  call(tool: string, args: object, metadata?: object): Promise<any>;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  close(): void;
}

export async function connect(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Client> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/ws`, { headers });
  const answers: Answer[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  socket.on("message", (data) => {
    const answer = JSON.parse(data.toString()) as Answer;
    const next = waiting.shift();
    if (next === undefined) answers.push(answer);
    else next(answer);
  });
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => undefined);
  const ask = (message: object | string): Promise<Answer> => {
    socket.send(typeof message === "string" ? message : JSON.stringify(message));
    const first = answers.shift();
    if (first !== undefined) return Promise.resolve(first);
    return Promise.race([
      new Promise<Answer>((resolve) => waiting.push(resolve)),
      closed.then((code) => ({ type: "closed", data: { code } })),
    ]);
  };
  const step = async (message: object) => {
    const { type, data } = await ask(message);
    if (type !== "observation") throw new Error(JSON.stringify(data));
    return data;
  };
  return {
    socket,
    ask,
    reset: (data = {}) => step({ type: "reset", data }),
    call: (tool_name, args, metadata) =>
      step({ type: "step", data: { type: "call_tool", tool_name, arguments: args, ...(metadata && { metadata }) } }),
    closed,
    close: () => socket.close(),
  };
}
