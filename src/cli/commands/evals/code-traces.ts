// The command `evals code`: a person notes what went wrong in traces.
import { createInterface } from "node:readline";
import { z } from "zod";
import type { Coding, NoteCount } from "../../../error-analysis/coding.js";
import { commandLine } from "../../../platform/command-line.js";
import { UserError } from "../../../platform/errors.js";
import { runName, text, toggle, wholeNumber } from "../../../platform/flag-values.js";
import { traceText } from "../../../reports/trace-text.js";
import type { Db } from "../../../store/open-store.js";
import type { CommandContext } from "../../command.js";
import { contradiction, defineCommand } from "../../flags/define-command.js";
import { seedShape } from "../../flags/eval-flags.js";
import { lineReplies, type Replies, withReplies } from "../../terminal.js";
import { summaryOf } from "./label-traces.js";

const codeTracesSchema = z.object({
  run: runName.optional().meta({ description: "Run id, the start of an id, a run name, or latest [default: latest]" }),
  limit: wholeNumber(1, 100_000)
    .default(150)
    .meta({ description: "Number of traces in the pass. A larger number extends an earlier pass", alias: "l" }),
  chats: toggle.meta({ description: "Code chats instead of a run" }),
  random: toggle.meta({
    description:
      "Draw each trace with the same probability [default: likely failures more often, weighted in all figures]",
  }),
  annotator: text
    .max(100, "expected at most 100 characters")
    .optional()
    .meta({ placeholder: "NAME", description: "Name of the annotator" }),
  ...seedShape,
});

export const codeTracesCommand = defineCommand(codeTracesSchema, async (flags, context) => {
  const { chats, run, limit, seed, random, annotator = null } = flags;
  if (chats && run !== undefined) throw contradiction("--chats cannot be combined with a run.", "Remove one of them.");
  const { withStore } = await import("../../../store/open-store.js");
  const { openCoding } = await import("../../../error-analysis/coding.js");
  const { readTaxonomy } = await import("../../../error-analysis/modes.js");
  const { SATURATED, saturatedText, taxonomyText } = await import("../../../reports/mode-text.js");
  await withStore(context.settings, async (db) => {
    const coding = await openCoding(db, { run: chats ? null : (run ?? "latest"), limit, seed, enriched: !random });
    if (coding.queue.length === 0) {
      throw new UserError(
        "coding_complete",
        "All traces of the pass are coded.",
        `Group the notes (${commandLine`art-e evals modes`}), or extend the pass: ${commandLine`art-e evals code ${coding.runId ?? "--chats"} --limit ${limit + 50}`}`,
      );
    }
    context.out.note(`On a web page: ${commandLine`art-e serve`}, then /#code/${coding.runId ?? "chats"}.`);
    const { sinceNewMode } = readTaxonomy(db, coding.runId);
    const onSince = (traces: number) => traces === SATURATED && context.out.note(saturatedText(traces));
    const coded = await askNotes(db, coding, { annotator, sinceNewMode, onSince }, context);
    const taxonomy = readTaxonomy(db, coding.runId);
    context.out.result({ coded, left: coding.queue.length - coded, taxonomy }, () => taxonomyText(taxonomy));
  });
});

const PROMPT = "the first thing that went wrong, n nothing wrong, 1-9 earlier note, t entire trace, u undo, q quit > ";
const KEYS_PROMPT = "n nothing wrong, w write what went wrong, 1-9 earlier note, t entire trace, u undo, q quit > ";

/** Number of earlier notes that can be chosen by a digit. */
const CHOICES = 9;

interface PassOptions {
  readonly annotator: string | null;
  /** Number of traces coded since the last new note. */
  readonly sinceNewMode: number;
  /** Called with this number after each trace. */
  readonly onSince: (traces: number) => void;
}

/**
 * Shows one trace after another on stderr. Reads one note per line from stdin, or single keys from a terminal. Saves
 * each note immediately. Returns the number of coded traces.
 */
async function askNotes(
  db: Db,
  coding: Coding,
  { annotator, ...pass }: PassOptions,
  { signal, out }: CommandContext,
): Promise<number> {
  const { deleteNote, listNotes, NoteConflict, noteSchema, saveNote } = await import(
    "../../../error-analysis/coding.js"
  );
  const { getTrace } = await import("../../../traces/traces-store.js");
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY;
  const opened = isTerminal ? keyReplies(() => listNotes(db)) : lineReplies(PROMPT);
  return withReplies(opened, signal, async (replies) => {
    const { queue } = coding;
    let done = 0;
    let seen: string | null = null;
    let since = pass.sinceNewMode;
    for (let draw = queue[done]; draw !== undefined; draw = queue[done]) {
      const { traceId } = draw;
      const trace = getTrace(db, traceId);
      const known = listNotes(db);
      const earlier = known.slice(0, CHOICES);
      out.note(`\n${done + 1}/${queue.length}  ${traceId}\n${summaryOf(trace)}`);
      for (const [i, { note, traces: n }] of earlier.entries()) out.note(`  ${i + 1}  ${note} (${n})`);
      const reply = await replies.next();
      if (reply === "q") break;
      if (reply === "t") out.note(traceText(trace));
      else if (reply === "u") {
        if (done === 0) out.note("Nothing to undo.");
        else deleteNote(db, queue[--done]?.traceId ?? "");
        seen = null;
      } else {
        const parsed = reply === "n" ? { data: null } : noteSchema.safeParse(chosenNote(reply, earlier));
        if (parsed.data === undefined) out.note(`Cannot save the note: ${parsed.error?.issues[0]?.message}.`);
        else {
          try {
            saveNote(db, { ...draw, note: parsed.data, annotator }, seen);
            seen = null;
            done++;
            const isNew = parsed.data !== null && !known.some(({ note }) => isSameNote(note, parsed.data));
            since = isNew ? 0 : since + (draw.isRepeat ? 0 : 1);
            pass.onSince(since);
          } catch (error) {
            // Somebody else has noted the trace in the meantime. The next note replaces that one.
            if (!(error instanceof NoteConflict)) throw error;
            out.note(`${error.message} ${error.hint}`);
            seen = error.current.createdAt;
          }
        }
      }
    }
    return done;
  });
}

/**
 * Reads single keys. A note is typed after `w`, as a line in which Tab completes earlier notes. Otherwise, a note that
 * begins with the letter of a command would be ambiguous.
 */
function keyReplies(notes: () => readonly NoteCount[]): Replies {
  const input = process.stdin;
  let close = () => {};
  const readKey = () =>
    new Promise<string>((resolve) => {
      const onData = (data: Buffer) => end(data.toString("utf8"));
      const end = (keys: string) => {
        input.off("data", onData);
        input.setRawMode(false);
        input.pause();
        // Keys that were typed ahead belong to the next traces.
        if (keys.length > 1) input.unshift(Buffer.from(keys.slice(1)));
        resolve(keys.charAt(0));
      };
      close = () => end("q");
      input.setRawMode(true);
      input.on("data", onData);
      input.resume();
    });
  const readNote = () =>
    new Promise<string>((resolve) => {
      const completer = (line: string): [string[], string] => {
        const matches = notes().filter(({ note }) => note.toLowerCase().startsWith(line.toLowerCase()));
        return [matches.map(({ note }) => note), line];
      };
      const lines = createInterface({ input, output: process.stderr, completer });
      close = () => lines.close();
      let note = "";
      lines.once("close", () => resolve(note));
      lines.question("What went wrong? ", (line) => {
        note = line.trim();
        lines.close();
      });
    });
  return {
    async next() {
      for (;;) {
        process.stderr.write(KEYS_PROMPT);
        const key = await readKey();
        if (key === CTRL_C || key === CTRL_D || key === "q") return "q";
        process.stderr.write(`${key.trim()}\n`);
        if (key === "w") return readNote();
        if (/^[ntu1-9]$/.test(key)) return key;
        process.stderr.write("Press one of these keys. To write a note, press w first.\n");
      }
    },
    close: () => close(),
  };
}

const [CTRL_C, CTRL_D] = ["\u0003", "\u0004"];

function isSameNote(one: string, other: string | null | undefined): boolean {
  return one.toLowerCase() === other?.toLowerCase();
}

/** Returns the earlier note that a digit selects, or the text itself. */
function chosenNote(reply: string, earlier: readonly NoteCount[]): string {
  return /^[1-9]$/.test(reply) ? (earlier[Number(reply) - 1]?.note ?? "") : reply;
}
