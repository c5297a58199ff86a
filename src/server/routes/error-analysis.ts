// Routes for coding notes and failure modes.
import { z } from "zod";
import { deleteNote, listNotes, noteSchema, saveNote } from "../../error-analysis/coding.js";
import { changeModes, modeChangeSchema, readTaxonomy } from "../../error-analysis/modes.js";
import { groupNotes } from "../../error-analysis/propose-modes.js";
import { withValidDraw } from "../../evals/labels.js";
import type { Model } from "../../models/model.js";
import { isRemote, parseModelName } from "../../models/model-names.js";
import { UserError } from "../../platform/errors.js";
import { getRun } from "../../traces/runs-store.js";
import { defineRoute, type Route, type Services } from "../app/route.js";
import {
  changedModesShape,
  codingQueueShape,
  modeProposalShape,
  noteCountsShape,
  snakeKeys,
  type TaxonomyJson,
  taxonomyShape,
} from "../response-shapes.js";

const queuedTrace = codingQueueShape.shape.queue.element.shape;

const runId = z.string().min(1).optional();

export function errorAnalysisRoutes({ db, lists, models }: Services): Route[] {
  const tag = "evals";
  return [
    defineRoute({
      method: "get",
      path: "/api/evals/coding-queue",
      tag,
      summary:
        "List the traces of a coding pass that do not have a note yet, in random order, and some for a second note",
      query: z.object({
        run_id: runId.meta({ description: "Run id, or latest. If absent, lists traces of chats" }),
        limit: z.coerce
          .number()
          .int()
          .min(1)
          .max(100_000)
          .default(100)
          .meta({ description: "Number of traces in the pass" }),
        seed: z.coerce.number().int().min(0).max(2_147_483_647).default(1),
        order: z.enum(["random", "enriched"]).default("enriched").meta({
          description: "enriched: likely failures have a higher probability, by which all figures weight the notes",
        }),
      }),
      status: 200,
      response: codingQueueShape,
      async handle({ query }) {
        const { run_id: run = null, order, ...options } = query;
        const coding = { run, enriched: order === "enriched", ...options };
        const { runId: codedRunId, queue } = await lists.read("tracesToCode", coding);
        return {
          run_id: codedRunId,
          run_name: codedRunId === null ? null : getRun(db, codedRunId).name,
          queue: queue.map(({ drawn: _, ...trace }) => snakeKeys(trace)),
          notes: listNotes(db),
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/evals/notes",
      tag,
      summary: "Note the first thing that went wrong in a trace",
      body: withValidDraw(
        z.object({
          trace_id: z.string().min(1),
          note: noteSchema
            .nullable()
            .meta({ description: "The first thing that went wrong, or null if nothing is wrong" }),
          annotator: z.string().trim().min(1).max(100).optional().meta({ description: "Person who codes, if known" }),
          is_repeat: queuedTrace.is_repeat.default(false),
          drawn_from: queuedTrace.drawn_from.default(null),
          probability: queuedTrace.probability.default(null),
          seen: z.string().nullable().default(null).meta({
            description: "Creation time of the note to replace. Otherwise, an existing note leads to a conflict",
          }),
        }),
      ),
      status: 201,
      response: z.object({ notes: noteCountsShape }),
      handle({ body }) {
        const {
          trace_id: traceId,
          note,
          annotator = null,
          is_repeat: isRepeat,
          drawn_from: drawnFrom,
          probability,
        } = body;
        const given = { traceId, note, annotator, isRepeat, drawnFrom, probability };
        saveNote(db, given, body.seen);
        return { notes: listNotes(db) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/evals/notes/:trace_id",
      tag,
      summary: "Delete the newest note of a trace, with the labels derived from it",
      status: 204,
      response: null,
      handle({ params }) {
        deleteNote(db, params.trace_id);
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/evals/modes",
      tag,
      summary: "List the failure modes with their rates, and the notes without a mode",
      query: z.object({ run_id: runId.meta({ description: "Only the coded traces of this run" }) }),
      status: 200,
      response: taxonomyShape,
      handle: ({ query }) => taxonomyJson(readTaxonomy(db, query.run_id ?? null)),
    }),
    defineRoute({
      method: "post",
      path: "/api/evals/modes",
      tag,
      summary: "Change the failure modes: assign, unassign, merge, rename, split, describe or delete",
      body: modeChangeSchema,
      status: 200,
      response: changedModesShape,
      handle({ body }) {
        const { mode, traces } = changeModes(db, body);
        return { mode, traces, taxonomy: taxonomyJson(readTaxonomy(db, null)) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/evals/mode-proposals",
      tag,
      summary: "Ask a model to group the notes without a mode, without changing anything",
      body: z.object({ model: z.string().min(1).meta({ description: "Model of a provider, as provider/name" }) }),
      status: 200,
      response: modeProposalShape,
      async handle({ body: { model }, signal }) {
        const { modes, left, costUsd } = await groupNotes(db, () => openProposer(models, model), signal);
        return {
          modes: modes.map(({ notes, ...mode }) => ({ ...mode, notes: [...notes] })),
          left: [...left],
          cost_usd: costUsd,
        };
      },
    }),
  ];
}

async function openProposer(models: Services["models"], id: string): Promise<Model> {
  const { provider } = parseModelName(id, null);
  if (isRemote(provider)) return models.get({ model: id }, undefined, undefined);
  throw new UserError("model_unfit", `The model ${id} cannot group notes.`, "Choose the model of a provider.");
}

function taxonomyJson({ coded, nothingWrong, ungrouped, modes }: ReturnType<typeof readTaxonomy>): TaxonomyJson {
  return {
    coded,
    nothing_wrong: nothingWrong,
    ungrouped: [...ungrouped],
    modes: modes.map(({ notes, ...mode }) => ({ ...mode, notes: [...notes] })),
  };
}
