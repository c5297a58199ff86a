import { UserError } from "../../domain/errors.js";
import type { Db } from "../../store/connection/open-store.js";
import { withWriteTransaction } from "../../store/connection/write-transaction.js";
import { addRunTags, removeRunTags, setRunName, setRunNote } from "../../store/runs/run-labels.js";
import { getRun, type RunRow } from "../../store/runs/runs.js";
import type { AppContext } from "../use-case-context.js";
import { waitForWriter } from "../wait-for-writer.js";
import { withStore } from "../with-store.js";
import { checkRunName, refuseTakenName } from "./run-name.js";

const TAG = /^[\p{L}\p{N}][\p{L}\p{N}._:-]{0,49}$/u;

/** A run's labels after a change. */
export type RunLabels = Pick<RunRow, "id" | "name" | "note" | "tags">;

/** Names a run, which can then be asked for by this name; null takes the name away. */
export function renameRun(run: string, name: string | null, context: AppContext): Promise<RunLabels> {
  if (name !== null) checkRunName(name, "NAME");
  return changeLabels(run, context, (db, id) => {
    if (name !== null) refuseTakenName(db, name, id);
    setRunName(db, id, name);
  });
}

/** Writes a note beside a run; null takes the note away. */
export function noteRun(run: string, note: string | null, context: AppContext): Promise<RunLabels> {
  return changeLabels(run, context, (db, id) => setRunNote(db, id, note));
}

/** Adds tags to a run, or takes them away. */
export function tagRun(
  run: string,
  tags: readonly string[],
  how: "add" | "remove",
  context: AppContext,
): Promise<RunLabels> {
  const invalid = tags.find((tag) => !TAG.test(tag));
  if (invalid !== undefined) {
    throw new UserError(
      "tag_invalid",
      `TAGS: "${invalid}" cannot be a tag.`,
      "Take up to 50 letters, digits, dots, colons, dashes and underscores.",
    );
  }
  return changeLabels(run, context, (db, id) => (how === "add" ? addRunTags : removeRunTags)(db, id, tags));
}

function changeLabels(name: string, context: AppContext, change: (db: Db, id: string) => void): Promise<RunLabels> {
  return withStore(context.settings, async (db) => {
    const { id } = getRun(db, name);
    await withWriteTransaction(db, waitForWriter(context, context.signal), () => change(db, id));
    const run = getRun(db, id);
    return { id, name: run.name, note: run.note, tags: run.tags };
  });
}
