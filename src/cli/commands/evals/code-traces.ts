import { createInterface, type Interface } from "node:readline";
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
import { summaryOf } from "./label-traces.js";

const codeTracesSchema = z.object({
  run: runName.optional().meta({ description: "Run id, the start of an id, a run name, or latest [default: latest]" }),
  limit: wholeNumber(1, 100_000)
    .default(100)
    .meta({ description: "Number of traces in the pass. A larger number extends an earlier pass", alias: "l" }),
  chats: toggle.meta({ description: "Code chats instead of a run" }),
  enriched: toggle.meta({
    description: "Draw likely failures more often. All figures weight the notes by the probability of each draw",
  }),
  annotator: text
    .max(100, "expected at most 100 characters")
    .optional()
    .meta({ placeholder: "NAME", description: "Name of the annotator" }),
  ...seedShape,
});

export const codeTracesCommand = defineCommand(codeTracesSchema, async (flags, context) => {
  const { chats, run, limit, seed, enriched, annotator = null } = flags;
  if (chats && run !== undefined) throw contradiction("--chats cannot be combined with a run.", "Remove one of them.");
  const { withStore } = await import("../../../store/open-store.js");
  const { openCoding } = await import("../../../error-analysis/coding.js");
  const { readTaxonomy } = await import("../../../error-analysis/modes.js");
  const { taxonomyText } = await import("../../../reports/mode-text.js");
  await withStore(context.settings, async (db) => {
    const coding = await openCoding(db, { run: chats ? null : (run ?? "latest"), limit, seed, enriched });
    if (coding.queue.length === 0) {
      throw new UserError(
        "coding_complete",
        "All traces of the pass are coded.",
        `Group the notes (${commandLine`art-e modes list`}), or extend the pass with a larger --limit.`,
      );
    }
    context.out.note(`On a web page: ${commandLine`art-e serve`}, then /#code/${coding.runId ?? "chats"}.`);
    const coded = await askNotes(db, coding, annotator, context);
    const taxonomy = readTaxonomy(db, coding.runId);
    context.out.result({ coded, left: coding.queue.length - coded, taxonomy }, () => taxonomyText(taxonomy));
  });
});

const PROMPT = "the first thing that went wrong, n nothing wrong, 1-9 earlier note, t entire trace, u undo, q quit > ";

/** Number of earlier notes that can be chosen by a digit. */
const CHOICES = 9;

/**
 * Shows one trace after another on stderr and reads one note per line from stdin. On a terminal, Tab completes earlier
 * notes. Saves each note immediately. Returns the number of coded traces.
 */
async function askNotes(
  db: Db,
  coding: Coding,
  annotator: string | null,
  { signal, out }: CommandContext,
): Promise<number> {
  const { deleteNote, listNotes, NoteConflict, noteSchema, saveNote } = await import(
    "../../../error-analysis/coding.js"
  );
  const lines = openLines(() => listNotes(db));
  const stop = () => lines.close();
  signal.addEventListener("abort", stop, { once: true });
  const replies = lines[Symbol.asyncIterator]();
  const traces = [...coding.queue];
  const { getTrace } = await import("../../../traces/traces-store.js");
  let done = 0;
  let seen: string | null = null;
  try {
    while (done < traces.length) {
      const draw = traces[done];
      if (draw === undefined) break;
      const { traceId } = draw;
      const trace = getTrace(db, traceId);
      const earlier = listNotes(db).slice(0, CHOICES);
      out.note(`\n${done + 1}/${traces.length}  ${traceId}\n${summaryOf(trace)}`);
      for (const [i, { note, traces: n }] of earlier.entries()) out.note(`  ${i + 1}  ${note} (${n})`);
      const reply = await readReply(lines, replies);
      if (reply === "q") break;
      if (reply === "t") out.note(traceText(trace));
      else if (reply === "u") {
        if (done === 0) out.note("Nothing to undo.");
        else deleteNote(db, traces[--done]?.traceId ?? "");
        seen = null;
      } else {
        const parsed = reply === "n" ? { data: null } : noteSchema.safeParse(chosenNote(reply, earlier));
        if (parsed.data === undefined) out.note(`Cannot save the note: ${parsed.error?.issues[0]?.message}.`);
        else {
          try {
            saveNote(db, { ...draw, note: parsed.data, annotator }, seen);
            seen = null;
            done++;
          } catch (error) {
            // Somebody else has noted the trace in the meantime. The next note replaces that one.
            if (!(error instanceof NoteConflict)) throw error;
            out.note(`${error.message} ${error.hint}`);
            seen = error.current.createdAt;
          }
        }
      }
    }
  } finally {
    signal.removeEventListener("abort", stop);
    lines.close();
  }
  return done;
}

function openLines(notes: () => readonly NoteCount[]): Interface {
  const terminal = process.stdin.isTTY && process.stderr.isTTY;
  const completer = (line: string) => {
    const matches = notes().flatMap(({ note }) => (note.toLowerCase().startsWith(line.toLowerCase()) ? note : []));
    return [matches, line] as [string[], string];
  };
  return terminal
    ? createInterface({ input: process.stdin, output: process.stderr, completer })
    : createInterface({ input: process.stdin, terminal: false });
}

/** Returns `q` at the end of the input. */
async function readReply(lines: Interface, replies: AsyncIterator<string>): Promise<string> {
  if (lines.terminal) {
    lines.setPrompt(PROMPT);
    lines.prompt();
  } else process.stderr.write(PROMPT);
  const { value, done } = await replies.next();
  return done === true ? "q" : value.trim();
}

/** Returns the earlier note that a digit selects, or the text itself. */
function chosenNote(reply: string, earlier: readonly NoteCount[]): string {
  return /^[1-9]$/.test(reply) ? (earlier[Number(reply) - 1]?.note ?? "") : reply;
}
