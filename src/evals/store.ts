// Stores evals, their versions and their tests.
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { firstIssue } from "../platform/json.js";
import { didYouMean } from "../platform/near-names.js";
import { sha256Of } from "../platform/sha256.js";
import { DamagedRowError, mapReadable, parseColumn } from "../store/damaged-row.js";
import type { Db } from "../store/open-store.js";
import type { JudgeSettings } from "../traces/judgment.js";
import {
  type EvalDefinition,
  type EvalDraft,
  type EvalStatus,
  type EvalTest,
  evalDefinitionSchema,
  type FileValidation,
  halfOfTest,
  type StoredEval,
} from "./definition.js";
import { hashTested } from "./effective-labels.js";
import { canonicalJson } from "./store/canonical-json.js";
import { fromFileValidation } from "./store/file-validation.js";

const SELECT = "SELECT id, definition, status, validated_for AS validatedFor, created_at AS createdAt FROM evals";

type EvalRow = Omit<StoredEval, "definition"> & { readonly definition: string };

export interface StoredEvalTest {
  readonly report: EvalTest;
  readonly createdAt: string;
  /** Whether the test's labels or their traces have changed. A stale test does not prove anything. */
  readonly isStale: boolean;
}

/** Returns the newest version of a name, or the version specified by `name@2`, or null if it does not exist. */
export function findEval(db: Db, reference: string): StoredEval | null {
  const [name = "", version] = reference.split("@");
  const row = db
    .prepare(`${SELECT} WHERE name = @name AND (@version IS NULL OR version = @version) ORDER BY version DESC LIMIT 1`)
    .get({ name, version: version === undefined ? null : Number(version) }) as EvalRow | undefined;
  return row === undefined ? null : toStored(row);
}

/** Like `findEval`, but throws a UserError if the eval does not exist. */
export function getEval(db: Db, reference: string): StoredEval {
  const storedEval = findEval(db, reference);
  if (storedEval !== null) return storedEval;
  const [name = ""] = reference.split("@");
  throw new UserError(
    "eval_unknown",
    `Unknown eval "${reference}" in ${db.name}.`,
    `${didYouMean(name, evalNames(db))}${commandLine`art-e evals list`} lists the evals. NAME@2 selects a version.`,
  );
}

export function evalNames(db: Db): string[] {
  return db.prepare("SELECT DISTINCT name FROM evals ORDER BY name").pluck().all() as string[];
}

/** Returns the active version, or null. */
export function activeEval(db: Db, name: string): StoredEval | null {
  const row = db.prepare(`${SELECT} WHERE name = ? AND status = 'active'`).get(name) as EvalRow | undefined;
  return row === undefined ? null : toStored(row);
}

/** Returns the eval of the judge with these settings: the active version, otherwise the newest one, or null. */
export function evalOfJudge(db: Db, judge: JudgeSettings): StoredEval | null {
  const same = listEvals(db).filter(
    ({ definition }) => definition.kind === "judge" && canonicalJson(definition.judge) === canonicalJson(judge),
  );
  return same.find(({ status }) => status === "active") ?? same.at(-1) ?? null;
}

/** Returns all versions of one eval or of all evals, ordered by name and version. */
export function listEvals(db: Db, name: string | null = null): StoredEval[] {
  const rows = db.prepare(`${SELECT} WHERE ? IS NULL OR name = ? ORDER BY name, version`).all(name, name) as EvalRow[];
  return mapReadable(rows, toStored);
}

export interface SavedEval {
  readonly stored: StoredEval;
  /** False if an identical version already existed. */
  readonly isNew: boolean;
}

/**
 * Saves a draft as the next version of its name. An existing version with the same content is returned instead, with
 * `isNew` false. `mode` is the failure mode that the eval was made for.
 */
export function saveDraft(db: Db, draft: EvalDraft, createdAt: string, mode: string | null = null): SavedEval {
  return db
    .transaction(() => {
      const saved = savedVersion(db, draft, createdAt);
      if (mode !== null) {
        const made = db.prepare("INSERT OR IGNORE INTO eval_modes (eval_id, mode, created_at) VALUES (?, ?, ?)");
        made.run(saved.stored.id, mode, createdAt);
      }
      return saved;
    })
    .immediate();
}

function savedVersion(db: Db, draft: EvalDraft, createdAt: string): SavedEval {
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
}

/** Returns the failure modes that an eval was made for or tested for. */
export function modesOfEval(db: Db, { id }: Pick<StoredEval, "id">): string[] {
  return db
    .prepare(
      `SELECT mode FROM eval_modes WHERE eval_id = @id
       UNION SELECT criterion FROM eval_tests WHERE eval_id = @id ORDER BY mode`,
    )
    .pluck()
    .all({ id }) as string[];
}

/** Returns when an eval was first made for a mode, or null if it was not. */
export function madeForModeAt(db: Db, { id }: Pick<StoredEval, "id">, mode: string): string | null {
  const made = db.prepare("SELECT created_at FROM eval_modes WHERE eval_id = ? AND mode = ?").pluck().get(id, mode);
  return (made as string | undefined) ?? null;
}

/** Returns when the first eval was made for a mode, or null if there is none. */
export function firstMadeForModeAt(db: Db, mode: string): string | null {
  return db.prepare("SELECT min(created_at) FROM eval_modes WHERE mode = ?").pluck().get(mode) as string | null;
}

/** Returns the active version of each eval, otherwise the newest version that is not retired. */
export function newestOf(all: readonly StoredEval[]): StoredEval[] {
  const byName = new Map<string, StoredEval>();
  for (const stored of all) {
    if (stored.status === "retired") continue;
    const { name } = stored.definition;
    if (byName.get(name)?.status !== "active") byName.set(name, stored);
  }
  return [...byName.values()];
}

/** Returns the drafts that are the newest version of their name. */
export function newestDrafts(db: Db): StoredEval[] {
  const newest = new Map(listEvals(db).map((stored) => [stored.definition.name, stored]));
  return [...newest.values()].filter(({ status }) => status === "draft");
}

/** Returns a hash of an eval's behavior. */
export function hashDefinition(definition: EvalDraft): string {
  return `sha256:${sha256Of(contentOf(definition))}`;
}

/** The behavior of an eval, without its version or origin. */
function contentOf(definition: EvalDraft): string {
  const { version: _, origin: __, ...content } = definition as EvalDefinition;
  return canonicalJson(content);
}

/** Activates a version for the criterion it was validated for, and retires the previous one. */
export function activateEval(db: Db, { id, definition }: StoredEval, validatedFor: string | null): void {
  db.transaction(() => {
    db.prepare("UPDATE evals SET status = 'retired' WHERE name = ? AND status = 'active' AND id <> ?").run(
      definition.name,
      id,
    );
    setStatus(db, id, "active");
    db.prepare("UPDATE evals SET validated_for = ? WHERE id = ?").run(validatedFor, id);
  }).immediate();
}

export function setStatus(db: Db, id: number, status: EvalStatus): void {
  db.prepare("UPDATE evals SET status = ? WHERE id = ?").run(status, id);
}

function toStored({ definition, ...row }: EvalRow): StoredEval {
  const place = { table: "evals", row: row.id, column: "definition" };
  const read = evalDefinitionSchema.safeParse(parseColumn(definition, {}, place));
  if (!read.success) throw new DamagedRowError(place, firstIssue(read.error), { cause: read.error });
  return { ...row, definition: read.data };
}

/**
 * Saves a test with the number of times that its traces have been read, including this time. A test that repeats an
 * earlier result does not count again. Returns the completed test.
 */
export function saveEvalTest(
  db: Db,
  evalId: number,
  test: Omit<EvalTest, "heldOutReads" | "readsByThisEval">,
  traceIds: readonly string[],
  createdAt: string,
): EvalTest {
  return db
    .transaction(() => {
      const { number, isNew } = testNumber(db, evalId, test);
      const report = { ...test, heldOutReads: countReads(db, traceIds, isNew), readsByThisEval: number };
      insertTest(db, evalId, report, createdAt);
      return report;
    })
    .immediate();
}

/**
 * Returns the number of a test among the tests of all versions of an eval for a criterion. The same version with the
 * same agreement is the same test, because a repetition is not another chance to pass.
 */
export function testNumber(
  db: Db,
  evalId: number,
  { criterion, agreement }: Pick<EvalTest, "criterion" | "agreement">,
): { readonly number: number; readonly isNew: boolean } {
  const results = db
    .prepare(
      `SELECT eval_id || (report -> '$.agreement') FROM eval_tests WHERE criterion = ? AND json_valid(report)
         AND eval_id IN (SELECT id FROM evals WHERE name = (SELECT name FROM evals WHERE id = ?))
       GROUP BY 1 ORDER BY min(id)`,
    )
    .pluck()
    .all(criterion, evalId);
  const index = results.indexOf(`${evalId}${JSON.stringify(agreement)}`);
  return index < 0 ? { number: results.length + 1, isNew: true } : { number: index + 1, isNew: false };
}

function insertTest(db: Db, evalId: number, report: EvalTest, createdAt: string): void {
  const { criterion, rejections } = report;
  db.prepare("INSERT INTO eval_tests (eval_id, criterion, passed, report, created_at) VALUES (?, ?, ?, ?, ?)").run(
    evalId,
    criterion,
    Number(rejections.length === 0),
    JSON.stringify(report),
    createdAt,
  );
}

/**
 * Saves the test from an eval file, unless the eval was tested in this database, differs from the tested definition, or
 * the test's figures were changed.
 */
export function saveImportedTest(
  db: Db,
  stored: StoredEval,
  validation: FileValidation,
): "kept" | "tested here" | "of another version" | "changed" {
  if (validation.definitionHash !== hashDefinition(stored.definition)) return "of another version";
  if (latestTest(db, stored, null) !== null) return "tested here";
  const report = fromFileValidation(validation, stored.definition);
  if (report === null) return "changed";
  insertTest(db, stored.id, report, validation.testedAt);
  return "kept";
}

/** Counts another read of these traces if it is new, and returns the highest number of reads. */
function countReads(db: Db, traceIds: readonly string[], isNew: boolean): number {
  const among = "WHERE trace_id IN (SELECT value FROM json_each(?))";
  const ids = JSON.stringify(traceIds);
  if (isNew) db.prepare(`UPDATE eval_traces SET reads = reads + 1 ${among}`).run(ids);
  return db.prepare(`SELECT coalesce(max(reads), 0) FROM eval_traces ${among}`).pluck().get(ids) as number;
}

/** Returns the newest test of an eval for the criterion that the eval is used for, or null if there is none. */
export function latestTest(
  db: Db,
  { id, validatedFor }: Pick<StoredEval, "id" | "validatedFor">,
  criterion: string | null = validatedFor,
): StoredEvalTest | null {
  return allTests(db, { id }).findLast(({ report }) => criterion === null || report.criterion === criterion) ?? null;
}

/** The properties that every reader of a test report needs. */
const TEST_SHAPE = { criterion: "string", rejections: "array" } as const;

/** Returns all tests of a version, oldest first. */
export function allTests(db: Db, { id }: Pick<StoredEval, "id">): StoredEvalTest[] {
  const rows = db
    .prepare("SELECT id, report, created_at AS createdAt FROM eval_tests WHERE eval_id = ? ORDER BY id")
    .all(id) as { id: number; report: unknown; createdAt: string }[];
  return mapReadable(rows, ({ id: row, report: json, createdAt }) => {
    const report = parseColumn<EvalTest>(json, TEST_SHAPE, { table: "eval_tests", row, column: "report" });
    const isStale =
      report.isImported !== true && hashTested(db, report.criterion, halfOfTest(report)) !== report.labelsHash;
    return { report, createdAt, isStale };
  });
}

/** Returns the criteria that an eval was tested for. */
export function testedCriteria(db: Db, { id }: Pick<StoredEval, "id">): string[] {
  return db
    .prepare("SELECT DISTINCT criterion FROM eval_tests WHERE eval_id = ? ORDER BY criterion")
    .pluck()
    .all(id) as string[];
}
