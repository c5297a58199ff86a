// The commands `modes ...`: failure modes and the notes in them.
import { createInterface } from "node:readline";
import { z } from "zod";
import { MODE_FIXES } from "../../error-analysis/mode-fixes.js";
import { type ModeChange, modeNameSchema } from "../../error-analysis/modes.js";
import type { Proposal, ProposedMode } from "../../error-analysis/propose-modes.js";
import { sentenceSchema } from "../../evals/criteria.js";
import { commandLine } from "../../platform/command-line.js";
import { numberAbove, oneOf, price, runName, text } from "../../platform/flag-values.js";
import { counted } from "../../reports/figure-text.js";
import { noteLines, taxonomyText } from "../../reports/mode-text.js";
import { usd } from "../../text/format.js";
import type { CommandContext } from "../command.js";
import { contradiction, defineCommand } from "../flags/define-command.js";

export const listModesCommand = defineCommand(
  z.object({
    run: runName.optional().meta({
      description: "Only the coded traces of this run: its id, the start of an id, a run name, or latest",
    }),
  }),
  async ({ run = null }, { settings, out }) => {
    const { withStore } = await import("../../store/open-store.js");
    const { readTaxonomy } = await import("../../error-analysis/modes.js");
    const taxonomy = await withStore(settings, (db) => readTaxonomy(db, run));
    out.result(taxonomy, () => taxonomyText(taxonomy));
  },
);

const mode = modeNameSchema.meta({ description: "Name of the failure mode" });
const notes = z.array(text).min(1).meta({ description: "Notes or parts of notes, ignoring case, or ids of traces" });

export const assignNotesCommand = defineCommand(z.object({ mode, notes }), (flags, context) =>
  apply({ action: "assign", ...pick(flags, "mode", "notes") }, "added", context),
);

export const unassignNotesCommand = defineCommand(z.object({ mode, notes }), (flags, context) =>
  apply({ action: "unassign", ...pick(flags, "mode", "notes") }, "removed", context),
);

export const mergeModesCommand = defineCommand(
  z.object({ mode, into: modeNameSchema.meta({ description: "Failure mode that receives the notes" }) }),
  (flags, context) => apply({ action: "merge", ...pick(flags, "mode", "into") }, "moved", context),
);

const newName = modeNameSchema.meta({ description: "Name of the new failure mode" });

export const renameModeCommand = defineCommand(z.object({ mode, name: newName }), (flags, context) =>
  apply({ action: "rename", ...pick(flags, "mode", "name") }, "renamed", context),
);

export const splitModeCommand = defineCommand(z.object({ mode, name: newName, notes }), (flags, context) =>
  apply({ action: "split", ...pick(flags, "mode", "name", "notes") }, "moved", context),
);

export const deleteModeCommand = defineCommand(z.object({ mode }), (flags, context) =>
  apply({ action: "delete", mode: flags.mode }, "ungrouped", context),
);

export const describeModeCommand = defineCommand(
  z.object({
    mode,
    sentence: sentenceSchema
      .optional()
      .meta({ placeholder: "TEXT", description: "One sentence about what a trace without this failure does" }),
    fix: oneOf(MODE_FIXES).optional().meta({ description: "Whether it needs an eval, or a fix in the prompt first" }),
  }),
  async ({ mode, sentence, fix }, context) => {
    if (sentence === undefined && fix === undefined) {
      throw contradiction("modes describe requires --sentence or --fix.", "Pass one of them.");
    }
    await apply({ action: "describe", mode, sentence, fix }, "described", context);
  },
);

function pick<T, K extends keyof T>(flags: T, ...keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, flags[key]])) as Pick<T, K>;
}

async function apply(change: ModeChange, done: string, { settings, out }: CommandContext): Promise<void> {
  const { withStore } = await import("../../store/open-store.js");
  const { changeModes } = await import("../../error-analysis/modes.js");
  const changed = await withStore(settings, (db) => changeModes(db, change));
  out.result(changed, () => `${changed.mode}: ${counted(changed.traces, "trace")} ${done}`);
}

export const proposeModesCommand = defineCommand(
  z.object({
    model: text.meta({ description: "Model that proposes the modes, as provider/name" }),
    price: price.optional().meta({ description: "Price in US dollars per million tokens: IN,OUT[,CACHED]" }),
    maxCost: numberAbove(0, 10_000).default(1).meta({ placeholder: "USD", description: "Maximum cost in US dollars" }),
  }),
  async (flags, context) => {
    const { proposeModes } = await import("../../error-analysis/propose-modes.js");
    const proposal = await proposeModes(flags, context);
    const accepted = await askAcceptance(proposal, context);
    context.out.result({ ...proposal, accepted }, () =>
      [
        `Accepted ${accepted.length} of ${counted(proposal.modes.length, "proposed mode")}. ${usd(proposal.spentUsd)}.`,
        `Next: ${commandLine`art-e modes list`}`,
      ].join("\n"),
    );
  },
);

const PROMPT = "y accept, n skip, another name to accept it under that name, q quit > ";

/** Shows one proposed mode after another on stderr. Saves an accepted one immediately. Returns the accepted names. */
async function askAcceptance({ modes }: Proposal, context: CommandContext): Promise<string[]> {
  const lines = createInterface({ input: process.stdin, terminal: false });
  const stop = () => lines.close();
  context.signal.addEventListener("abort", stop, { once: true });
  const replies = lines[Symbol.asyncIterator]();
  const accepted: string[] = [];
  try {
    for (const proposed of modes) {
      context.out.note([`\n${proposed.name}: ${proposed.sentence}`, ...noteLines(proposed.notes)].join("\n"));
      const name = await acceptedName(proposed, replies, context);
      if (name === null) break;
      if (name === "") continue;
      await accept({ ...proposed, name }, context);
      accepted.push(name);
    }
  } finally {
    context.signal.removeEventListener("abort", stop);
    lines.close();
  }
  return accepted;
}

/** Returns an empty string for a skipped mode, or null if the person quits or the input ends. */
async function acceptedName(
  { name }: ProposedMode,
  replies: AsyncIterator<string>,
  { out }: CommandContext,
): Promise<string | null> {
  for (;;) {
    process.stderr.write(PROMPT);
    const { value, done } = await replies.next();
    const line = done === true ? "q" : value.trim();
    if (line === "q") return null;
    if (line === "n") return "";
    if (line === "y") return name;
    const { data, error } = modeNameSchema.safeParse(line);
    if (data !== undefined) return data;
    out.note(`Invalid name "${line}": ${error.issues[0]?.message}.`);
  }
}

async function accept({ name, sentence, notes }: ProposedMode, { settings }: CommandContext): Promise<void> {
  const { withStore } = await import("../../store/open-store.js");
  const { changeModes } = await import("../../error-analysis/modes.js");
  const change: ModeChange = { action: "assign", mode: name, sentence, notes: notes.map(({ note }) => note) };
  await withStore(settings, (db) => changeModes(db, change));
}
