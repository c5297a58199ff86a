// The command `evals modes`: failure modes and the notes in them.
import { z } from "zod";
import { MODE_FIXES } from "../../../error-analysis/mode-fixes.js";
import { type ModeChange, modeChangeSchema, modeNameSchema, type Taxonomy } from "../../../error-analysis/modes.js";
import type { Proposal, ProposedMode } from "../../../error-analysis/propose-modes.js";
import { sentenceSchema } from "../../../evals/criteria.js";
import { commandLine } from "../../../platform/command-line.js";
import { UserError } from "../../../platform/errors.js";
import { numberAbove, oneOf, price, runName, text } from "../../../platform/flag-values.js";
import { nextAfterCoding, noteLines, taxonomyText } from "../../../reports/mode-text.js";
import { counted, usd } from "../../../text/format.js";
import type { CommandContext } from "../../command.js";
import { contradiction, defineCommand } from "../../flags/define-command.js";
import { lineReplies, type Replies, withReplies } from "../../terminal.js";

const ACTIONS = ["list", "assign", "unassign", "merge", "rename", "split", "describe", "delete", "propose"] as const;

/** The required and optional words after each action, in the order of the command line. */
const WORDS = {
  assign: "MODE NOTE..",
  unassign: "MODE NOTE..",
  merge: "MODE INTO",
  rename: "MODE NAME",
  split: "MODE NAME NOTE..",
  describe: "MODE",
  delete: "MODE",
} as const;

/** What happened to the traces of a mode. */
const DONE: Readonly<Record<ModeChange["action"], string>> = {
  assign: "added",
  unassign: "removed",
  merge: "moved",
  rename: "renamed",
  split: "moved",
  describe: "described",
  delete: "ungrouped",
};

const modesSchema = z.object({
  action: oneOf(ACTIONS)
    .default("list")
    .meta({
      description: `list, propose (let a model group the notes), or a change: ${Object.entries(WORDS)
        .map(([action, words]) => `${action} ${words}`)
        .join(", ")}`,
    }),
  words: z.array(text).default([]).meta({
    description: "Names of modes, then notes or parts of notes, ignoring case, or ids of traces",
  }),
  run: runName.optional().meta({
    description: "With list: only the coded traces of this run (its id, the start of an id, a run name, or latest)",
  }),
  sentence: sentenceSchema.optional().meta({
    placeholder: "TEXT",
    description: "With describe: one sentence about what a trace without this failure does",
  }),
  fix: oneOf(MODE_FIXES)
    .optional()
    .meta({ description: "With describe: whether the mode needs an eval, or a fix in the prompt first" }),
  model: text.optional().meta({ description: "With propose: model that groups the notes, as provider/name" }),
  price: price.optional().meta({ description: "Price in US dollars per million tokens: IN,OUT[,CACHED]" }),
  maxCost: numberAbove(0, 10_000).default(1).meta({ placeholder: "USD", description: "Maximum cost in US dollars" }),
});

type ModeFlags = z.output<typeof modesSchema>;

export const modesCommand = defineCommand(modesSchema, async (flags, context) => {
  const { action, run = null, model } = flags;
  if (action === "list") return listModes(run, context);
  if (action === "propose") {
    if (model === undefined)
      throw contradiction("evals modes propose: --model is required.", "Pass --model provider/name.");
    return proposeAndAsk({ ...flags, model }, context);
  }
  const changed = await apply(changeOf(action, flags), context);
  const taxonomy = await taxonomyOf(null, context);
  context.out.result(changed, () =>
    [`${changed.mode}: ${counted(changed.traces, "trace")} ${DONE[action]}`, ...nextAfterCoding(taxonomy)].join("\n"),
  );
});

async function listModes(run: string | null, context: CommandContext): Promise<void> {
  const taxonomy = await taxonomyOf(run, context);
  context.out.result(taxonomy, () => taxonomyText(taxonomy));
}

async function taxonomyOf(run: string | null, { settings }: CommandContext): Promise<Taxonomy> {
  const { withStore } = await import("../../../store/open-store.js");
  const { readTaxonomy } = await import("../../../error-analysis/modes.js");
  return withStore(settings, (db) => readTaxonomy(db, run));
}

/** Checks the words of a change. Throws a UserError with their correct order. */
function changeOf(action: keyof typeof WORDS, { words, sentence, fix }: ModeFlags): ModeChange {
  if (action === "describe" && sentence === undefined && fix === undefined) {
    throw contradiction("evals modes describe: --sentence or --fix is required.", "Pass one of them.");
  }
  const [mode, ...rest] = words;
  const fields = {
    assign: { notes: rest },
    unassign: { notes: rest },
    merge: { into: rest[0] },
    rename: { name: rest[0] },
    split: { name: rest[0], notes: rest.slice(1) },
    describe: { sentence, fix },
    delete: {},
  }[action];
  const expected = WORDS[action].split(" ").length;
  const isLong = words.length > expected && !WORDS[action].endsWith("..");
  const { data, error } = modeChangeSchema.safeParse({ action, mode, ...fields });
  if (data !== undefined && !isLong) return data;
  const [issue] = error?.issues ?? [];
  const isComplete = issue !== undefined && words.length >= expected && !isLong;
  const message = isComplete
    ? `${String(issue.path[0]).toUpperCase()}: ${issue.message}.`
    : `evals modes ${action}: ${WORDS[action].replace("..", "").replaceAll(" ", ", ")} is required.`;
  throw new UserError("usage", message, `See ${commandLine`art-e evals modes --help`}.`);
}

async function apply(change: ModeChange, { settings }: Pick<CommandContext, "settings">) {
  const { withStore } = await import("../../../store/open-store.js");
  const { changeModes } = await import("../../../error-analysis/modes.js");
  return withStore(settings, (db) => changeModes(db, change));
}

async function proposeAndAsk(flags: ModeFlags & { readonly model: string }, context: CommandContext): Promise<void> {
  const { proposeModes } = await import("../../../error-analysis/propose-modes.js");
  const proposal = await proposeModes(flags, context);
  const accepted = await askAcceptance(proposal, context);
  const taxonomy = await taxonomyOf(null, context);
  context.out.result({ ...proposal, accepted }, () =>
    [
      `Accepted ${accepted.length} of ${counted(proposal.modes.length, "proposed mode")}. ${usd(proposal.spentUsd)}.`,
      ...nextAfterCoding(taxonomy),
    ].join("\n"),
  );
}

const PROMPT = "y accept, n skip, another name to accept it under that name, q quit > ";

/** Shows one proposed mode after another on stderr. Saves an accepted one immediately. Returns the accepted names. */
function askAcceptance({ modes }: Proposal, context: CommandContext): Promise<string[]> {
  return withReplies(lineReplies(PROMPT), context.signal, async (replies) => {
    const accepted: string[] = [];
    for (const proposed of modes) {
      context.out.note([`\n${proposed.name}: ${proposed.sentence}`, ...noteLines(proposed.notes)].join("\n"));
      const name = await acceptedName(proposed, replies, context);
      if (name === null) break;
      if (name === "") continue;
      const { sentence, notes } = proposed;
      await apply({ action: "assign", mode: name, sentence, notes: notes.map(({ note }) => note) }, context);
      accepted.push(name);
    }
    return accepted;
  });
}

/** Returns an empty string for a skipped mode, or null if the person quits or the input ends. */
async function acceptedName({ name }: ProposedMode, replies: Replies, { out }: CommandContext): Promise<string | null> {
  for (;;) {
    const line = await replies.next();
    if (line === "q") return null;
    if (line === "n") return "";
    if (line === "y") return name;
    const { data, error } = modeNameSchema.safeParse(line);
    if (data !== undefined) return data;
    out.note(`Invalid name "${line}": ${error.issues[0]?.message}.`);
  }
}
