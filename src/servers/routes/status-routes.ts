import { z } from "zod";
import { readCorpusStats } from "../../store/import/corpus-stats.js";
import { listImportedInboxes } from "../../store/import/owners.js";
import { listAgents } from "../../store/registry/agent-rows.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";

/** Mailboxes and models to choose from, and the health check. */
export function metaRoutes({ db, models, chats, version }: Services): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/inboxes",
      tag: "mail",
      summary: "The mailboxes that have been imported, and the days their mail is from",
      status: 200,
      response: z.strictObject({
        inboxes: z.array(z.string()),
        messages: z.number().int(),
        first_date: z.string().nullable(),
        last_date: z.string().nullable(),
      }),
      handle() {
        const { messages, firstDate, lastDate } = readCorpusStats(db);
        return { inboxes: [...listImportedInboxes(db)].sort(), messages, first_date: firstDate, last_date: lastDate };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/models",
      tag: "models",
      summary: "One model of each provider that can be asked here; others of theirs may be named too",
      status: 200,
      response: z.strictObject({
        models: z.array(z.strictObject({ id: z.string(), provider: z.string() })),
        default_model: z.string().meta({ description: "Of agents without a model of their own" }),
      }),
      handle: () => ({ models: models.examples(), default_model: models.fallback() }),
    }),
    defineRoute({
      method: "get",
      path: "/api/health",
      tag: "health",
      summary: "Whether the server and its database answer",
      status: 200,
      response: z.strictObject({ status: z.literal("ok"), version: z.string(), chats: z.number().int() }),
      handle() {
        listAgents(db);
        return { status: "ok", version, chats: chats.count };
      },
    }),
  ];
}
