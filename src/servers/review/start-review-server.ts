import type { DatasetReview } from "../../app/questions/review/review-questions.js";
import type { Db } from "../../store/connection/open-store.js";
import { createApp } from "../create-app.js";
import { type HttpServer, openHttpServer } from "../http/http-server.js";
import { addPage } from "../playground/serve-page.js";
import { mailRoutes } from "../routes/mail-routes.js";
import { reviewRoutes } from "./review-routes.js";

/** Only this machine can reach it. */
const HOST = "127.0.0.1";
const MAX_CONNECTIONS = 64;

export interface ReviewServerOptions {
  readonly version: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Null: no token is needed. */
  readonly token: string | null;
  /** Logs an error that is a bug of this program. */
  report(fault: unknown, requestId: string): void;
}

/** Serves the page of a review until it is closed. Throws a UserError where the port is in use. */
export function startReviewServer(
  db: Db,
  review: DatasetReview,
  { version, port, token, report }: ReviewServerOptions,
): Promise<HttpServer> {
  const app = createApp(
    {
      routes: [...reviewRoutes(review), ...mailRoutes({ db })],
      version,
      report,
      addPages: (to) => addPage(to, "review"),
    },
    { host: HOST, token, cors: null },
    () => undefined,
  );
  return openHttpServer(app, HOST, port, MAX_CONNECTIONS);
}
