import type { Hono } from "hono";
import { RunSubscriptions } from "../app/watch/run-subscriptions.js";
import { createApp } from "./create-app.js";
import type { WriteLog } from "./http/access-log.js";
import type { Access } from "./http/auth.js";
import { openHttpServer, refuseOpenAddress } from "./http/http-server.js";
import type { Env, Route } from "./http/route.js";
import type { Services } from "./http/route-services.js";
import { openaiRoutes } from "./openai/openai-routes.js";
import { responsesRoutes } from "./openai/responses-routes.js";
import { chatRoutes } from "./playground/chat-routes.js";
import { playgroundSessionRoutes } from "./playground/playground-session-routes.js";
import { addPage } from "./playground/serve-page.js";
import { agentRoutes } from "./routes/agent-routes.js";
import { versionRoutes } from "./routes/agent-version-routes.js";
import { corpusRoutes } from "./routes/corpus-routes.js";
import { feedbackRoutes } from "./routes/feedback-routes.js";
import { mailRoutes } from "./routes/mail-routes.js";
import { ReportLinks } from "./routes/report-links.js";
import { runRoutes } from "./routes/run-routes.js";
import { sessionRoutes } from "./routes/session-routes.js";
import { metaRoutes } from "./routes/status-routes.js";
import { toolRoutes } from "./routes/tool-routes.js";
import { traceRoutes } from "./routes/trace-routes.js";
import { runStreamRoutes } from "./watch/run-stream-routes.js";
import { RunStreams } from "./watch/run-streams.js";

/** Besides the one connection of each chat. */
const MAX_OTHER_CONNECTIONS = 256;

/** After their abort, chats have so long to send their last events. */
const LAST_EVENTS_MS = 2_000;

export interface Running {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /** Takes no more requests; running chats have `graceMs` to finish. Resolves when everything is closed. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Port 0 takes any that is free. Throws a UserError where the address is in use, or is open to others without a token.
 */
export async function startServer(services: Services, access: Access, port: number, write: WriteLog): Promise<Running> {
  refuseOpenAddress(access);
  const { db, chats, report, version } = services;
  // Runs are executed by other processes than this one.
  const subscriptions = new RunSubscriptions(
    db,
    () => null,
    (fault) => report(fault, "runs"),
  );
  const streams = new RunStreams(subscriptions, services.stream);
  const reports = new ReportLinks(services);
  const routes = servedRoutes(services, reports, streams);
  const app = createApp({ routes, version, report, addPages: (to) => addPages(to, reports) }, access, write);
  const server = await openHttpServer(app, access.host, port, chats.max + MAX_OTHER_CONNECTIONS);
  return {
    url: server.url,
    stop: (graceMs) =>
      server.close(
        graceMs + LAST_EVENTS_MS,
        async () => void (await Promise.all([chats.stop(graceMs), streams.end()])),
      ),
  };
}

function servedRoutes(services: Services, reports: ReportLinks, streams: RunStreams): Route[] {
  return [
    ...agentRoutes(services),
    ...versionRoutes(services),
    ...playgroundSessionRoutes(services),
    ...chatRoutes(services),
    ...toolRoutes(services),
    ...sessionRoutes(services),
    ...traceRoutes(services),
    ...feedbackRoutes(services),
    ...runRoutes(services),
    ...runStreamRoutes(services, streams),
    ...corpusRoutes(services),
    ...reports.routes(),
    ...mailRoutes(services),
    ...metaRoutes(services),
    ...openaiRoutes(services),
    ...responsesRoutes(services),
  ];
}

function addPages(app: Hono<Env>, reports: ReportLinks): void {
  addPage(app, "all");
  reports.addPage(app);
}
