// The thread that serves a run's page.
import { workerData } from "node:worker_threads";
import { serveCalls } from "../../platform/worker-rpc.js";
import { RunSubscriptions } from "../../runs/run-progress.js";
import { openReadOnly } from "../../store/open-store.js";
import type { RunProcessState } from "../../traces/progress.js";
import type { HttpServer } from "../app/http-server.js";
import { openPageServer } from "../create-app.js";
import { listsOf } from "../lists/lists.js";
import { mailRoutes } from "../routes/mail.js";
import { runRoutes } from "../routes/runs.js";
import { traceRoutes } from "../routes/traces.js";
import { type RunPageAnswer, type RunPageCall, type RunPageData, RunStreams, runStreamRoutes } from "../run-page.js";

/** The thread of a run's page: a server that runs as long as the run and only reads the database. */

const ANY_PORT = 0;
const STREAM_LIMITS = { heartbeatMs: 15_000, stallMs: 30_000 };

/** Time at the end of a run for browsers to receive the last state. */
const LAST_STATE_MS = 2_000;

const { path, version, token } = workerData as RunPageData;
const db = openReadOnly(path);
const lists = listsOf(db);
let ofRun: { readonly runId: string; readonly state: RunProcessState } | null = null;
let server: HttpServer | null = null;

/** The page shows failures. They must not appear in the run's own output. */
const ignoreFault = () => undefined;

const processOf = (runId: string) => (ofRun?.runId === runId ? ofRun.state : null);
const streams = new RunStreams(new RunSubscriptions(db, processOf, ignoreFault), STREAM_LIMITS);

async function answer(call: RunPageCall): Promise<RunPageAnswer> {
  switch (call.type) {
    case "open":
      server = await openServer();
      return server.url;
    case "process_state":
      ofRun = call;
      return null;
    case "end":
      ofRun = null;
      await server?.close(LAST_STATE_MS, () => streams.end());
      return null;
  }
}

function openServer(): Promise<HttpServer> {
  const routes = [
    ...runRoutes({ db, lists }),
    ...traceRoutes({ db, lists }),
    ...mailRoutes({ db }),
    ...runStreamRoutes({ db }, streams),
  ];
  return openPageServer("run", routes, { version, report: ignoreFault, port: ANY_PORT, token });
}

serveCalls(answer);
