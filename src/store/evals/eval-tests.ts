import type { EvalTest } from "../../domain/evals/eval-test.js";
import type { Db } from "../connection/open-store.js";

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
