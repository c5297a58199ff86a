import { z } from "zod";
import { deleteNote, listNotes, noteSchema, openCoding, saveNote } from "../../error-analysis/coding.js";
import { changeModes, modeChangeSchema, readTaxonomy } from "../../error-analysis/modes.js";
import { drawnFromSchema, probabilitySchema } from "../../evals/labels.js";
import { getRun } from "../../traces/runs-store.js";
import { defineRoute, type Route, type Services } from "../app/route.js";
import { noteCountsShape, type TaxonomyJson, taxonomyShape } from "../response-shapes.js";

const runId = z.string().min(1).optional();

const drawShape = {
  drawn_from: drawnFromSchema
    .nullable()
    .meta({ description: "Number of traces that this one was drawn from, or null if somebody chose it" }),
  probability: probabilitySchema
    .nullable()
    .meta({ description: "Probability with which an enriched draw selected this trace" }),
};

export function errorAnalysisRoutes({ db }: Services): Route[] {
  const tag = "evals";
  return [
    defineRoute({
      method: "get",
      path: "/api/evals/coding-queue",
      tag,
      summary: "List the traces of a coding pass that do not have a note yet, in random order",
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
        order: z.enum(["random", "enriched"]).default("random").meta({
          description: "enriched: likely failures have a higher probability, by which all figures weight the notes",
        }),
      }),
      status: 200,
      response: z.object({
        run_id: z.string().nullable(),
        run_name: z.string().nullable(),
        queue: z.array(z.object({ trace_id: z.string(), ...drawShape })),
        notes: noteCountsShape,
      }),
      async handle({ query }) {
        const { run_id: run = null, order, ...options } = query;
        const { runId: codedRunId, queue } = await openCoding(db, { run, enriched: order === "enriched", ...options });
        return {
          run_id: codedRunId,
          run_name: codedRunId === null ? null : getRun(db, codedRunId).name,
          queue: queue.map(({ traceId, drawnFrom, probability }) => ({
            trace_id: traceId,
            drawn_from: drawnFrom,
            probability,
          })),
          notes: listNotes(db),
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/evals/notes",
      tag,
      summary: "Note the first thing that went wrong in a trace, replacing an earlier note",
      body: z.object({
        trace_id: z.string().min(1),
        note: noteSchema
          .nullable()
          .meta({ description: "The first thing that went wrong, or null if nothing is wrong" }),
        annotator: z.string().trim().min(1).max(100).optional().meta({ description: "Person who codes, if known" }),
        drawn_from: drawShape.drawn_from.default(null),
        probability: drawShape.probability.default(null),
      }),
      status: 201,
      response: z.object({ notes: noteCountsShape }),
      handle({ body: { trace_id: traceId, note, annotator = null, drawn_from: drawnFrom, probability } }) {
        saveNote(db, { traceId, note, annotator, drawnFrom, probability });
        return { notes: listNotes(db) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/evals/notes/:trace_id",
      tag,
      summary: "Delete the note of a trace, with the labels derived from it",
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
      response: z.object({ mode: z.string(), traces: z.number().int(), taxonomy: taxonomyShape }),
      handle({ body }) {
        const { mode, traces } = changeModes(db, body);
        return { mode, traces, taxonomy: taxonomyJson(readTaxonomy(db, null)) };
      },
    }),
  ];
}

function taxonomyJson({ coded, nothingWrong, ungrouped, modes }: ReturnType<typeof readTaxonomy>): TaxonomyJson {
  return {
    coded,
    nothing_wrong: nothingWrong,
    ungrouped: [...ungrouped],
    modes: modes.map(({ notes, ...mode }) => ({ ...mode, notes: [...notes] })),
  };
}
