import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import type { Db } from "../store/open-store.js";
import {
  type EvalDefinition,
  type EvalStatus,
  type EvalTest,
  evalDefinitionSchema,
  type StoredEval,
} from "./definition.js";

const SELECT = "SELECT id, definition, status, created_at AS createdAt FROM evals";

type EvalRow = Omit<StoredEval, "definition"> & { readonly definition: string };

/** The newest version of a name; `name@2`: that version. Null: there is none. */
export function findEval(db: Db, reference: string): StoredEval | null {
  const [name = "", version] = reference.split("@");
  const row = db
    .prepare(`${SELECT} WHERE name = ? AND (? IS NULL OR version = ?) ORDER BY version DESC LIMIT 1`)
    .get(name, version ?? null, Number(version ?? 0)) as EvalRow | undefined;
  return row === undefined ? null : toStored(row);
}

/** The same where it must be there. */
export function getEval(db: Db, reference: string): StoredEval {
  const found = findEval(db, reference);
  if (found !== null) return found;
  throw new UserError(
    "eval_unknown",
    `There is no eval "${reference}" in ${db.name}.`,
    `${commandLine`art-e evals list`} shows those there are; NAME@2 names a version.`,
  );
}

/** Null: no version of this name is in use. */
export function activeEval(db: Db, name: string): StoredEval | null {
  const row = db.prepare(`${SELECT} WHERE name = ? AND status = 'active'`).get(name) as EvalRow | undefined;
  return row === undefined ? null : toStored(row);
}

/** All versions, by name and version; of one name, or of all. */
export function listEvals(db: Db, name: string | null = null): StoredEval[] {
  const rows = db.prepare(`${SELECT} WHERE ? IS NULL OR name = ? ORDER BY name, version`).all(name, name) as EvalRow[];
  return rows.map(toStored);
}

/**
 * Saves a draft under the next version of its name. A version that says the same is returned instead: `isNew` false.
 */
export function saveDraft(
  db: Db,
  draft: Omit<EvalDefinition, "version">,
  createdAt: string,
): { readonly stored: StoredEval; readonly isNew: boolean } {
  return db
    .transaction(() => {
      const versions = listEvals(db, draft.name);
      const same = versions.findLast(({ definition }) => contentOf(definition) === contentOf(draft));
      if (same !== undefined) return { stored: same, isNew: false };
      const version = (versions.at(-1)?.definition.version ?? 0) + 1;
      const definition = evalDefinitionSchema.parse({ ...draft, version });
      db.prepare("INSERT INTO evals (name, version, definition, status, created_at) VALUES (?, ?, ?, 'draft', ?)").run(
        definition.name,
        version,
        JSON.stringify(definition),
        createdAt,
      );
      return { stored: getEval(db, `${definition.name}@${version}`), isNew: true };
    })
    .immediate();
}

/** What an eval does, without its version and where it came from. */
function contentOf(definition: Omit<EvalDefinition, "version">): string {
  const { version: _, origin: __, ...content } = definition as EvalDefinition;
  return JSON.stringify(content, Object.keys(flatten(content)).sort());
}

/** All keys at any depth: the list that JSON.stringify takes to write them in one order. */
function flatten(value: unknown, keys: Record<string, true> = {}): Record<string, true> {
  if (typeof value !== "object" || value === null) return keys;
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) keys[key] = true;
    flatten(inner, keys);
  }
  return keys;
}

/** Puts a version into use, and retires the one that was. */
export function activateEval(db: Db, { id, definition }: StoredEval): void {
  db.transaction(() => {
    db.prepare("UPDATE evals SET status = 'retired' WHERE name = ? AND status = 'active' AND id <> ?").run(
      definition.name,
      id,
    );
    setStatus(db, id, "active");
  }).immediate();
}

export function setStatus(db: Db, id: number, status: EvalStatus): void {
  db.prepare("UPDATE evals SET status = ? WHERE id = ?").run(status, id);
}

function toStored({ definition, ...row }: EvalRow): StoredEval {
  return { ...row, definition: evalDefinitionSchema.parse(JSON.parse(definition)) };
}

export interface StoredEvalTest {
  readonly report: EvalTest;
  readonly createdAt: string;
}

/** Saves a test with how often the held-out half was read, this time included, and returns it so completed. */
export function saveEvalTest(
  db: Db,
  evalId: number,
  test: Omit<EvalTest, "heldOutReads" | "readsByThisEval">,
  createdAt: string,
): EvalTest {
  return db
    .transaction(() => {
      const readBy = (condition: string, value: number) =>
        db
          .prepare(`SELECT count(*) FROM eval_tests WHERE criterion = ? AND ${condition}`)
          .pluck()
          .get(test.criterion, value) as number;
      const report: EvalTest = {
        ...test,
        heldOutReads: readBy("eval_id > ?", 0) + 1,
        readsByThisEval:
          readBy("eval_id IN (SELECT id FROM evals WHERE name = (SELECT name FROM evals WHERE id = ?))", evalId) + 1,
      };
      db.prepare("INSERT INTO eval_tests (eval_id, criterion, passed, report, created_at) VALUES (?, ?, ?, ?, ?)").run(
        evalId,
        test.criterion,
        Number(test.rejections.length === 0),
        JSON.stringify(report),
        createdAt,
      );
      return report;
    })
    .immediate();
}

/** The newest test of an eval; null: it was never tested. */
export function latestTest(db: Db, evalId: number): StoredEvalTest | null {
  const row = db
    .prepare("SELECT report, created_at AS createdAt FROM eval_tests WHERE eval_id = ? ORDER BY id DESC LIMIT 1")
    .get(evalId) as { report: string; createdAt: string } | undefined;
  return row === undefined ? null : { report: JSON.parse(row.report) as EvalTest, createdAt: row.createdAt };
}
