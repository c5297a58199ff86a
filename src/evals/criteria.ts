import { z } from "zod";
import type { AppSettings } from "../platform/app-context.js";
import { type Db, withStore } from "../store/open-store.js";

/** What labels are about where nothing else is said: whether the answer is good. */
export const OVERALL = "overall";

/** A failure mode that traces are labelled for; `overall` for none in particular. */
export const criterionNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "expected a name of small letters, digits and _, such as invented_numbers");

export const sentenceSchema = z.string().trim().min(1, "expected a sentence").max(1_000);

interface Criterion {
  readonly name: string;
  /** What a good trace does, in a person's words; null: nobody wrote it. */
  readonly sentence: string | null;
  /** Traces with a label that counts. */
  readonly labelled: number;
}

/** Those that have a sentence or labels. */
export function listCriteria(settings: AppSettings): Promise<Criterion[]> {
  return withStore(
    settings,
    (db) =>
      db
        .prepare(
          `SELECT name, max(sentence) AS sentence, sum(labelled) AS labelled FROM (
             SELECT name, sentence, 0 AS labelled FROM eval_criteria
             UNION ALL
             SELECT criterion, NULL, count(DISTINCT trace_id) FROM eval_labels GROUP BY criterion)
           GROUP BY name ORDER BY name`,
        )
        .all() as Criterion[],
  );
}

/** The sentence of a criterion; null: nobody wrote one. */
export function criterionSentence(db: Db, name: string): string | null {
  return (db.prepare("SELECT sentence FROM eval_criteria WHERE name = ?").pluck().get(name) as string) ?? null;
}

/** Writes or rewrites a sentence. Labels stay as they are; tests by them are stale where it says something else now. */
export function writeCriterion(db: Db, name: string, sentence: string): void {
  db.prepare(
    `INSERT INTO eval_criteria (name, sentence, changed_at) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET sentence = excluded.sentence, changed_at = excluded.changed_at`,
  ).run(name, sentence, new Date().toISOString());
}
