import type { Question, QuestionSet } from "../../domain/tasks/question.js";
import type { Db } from "../connection/open-store.js";

/** Keeps the questions of a run and where they came from. Returns the dataset's id in the file. */
export function saveQuestions(db: Db, set: Omit<QuestionSet, "questions">, questions: readonly Question[]): string {
  const id = set.sha256.slice(0, 16);
  const addTask = db.prepare(
    `INSERT OR IGNORE INTO art_e_tasks
       (dataset_id, id, question, answer, message_ids, inbox_address, query_date, how_realistic, split)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  db.transaction(() => {
    db.prepare("INSERT OR IGNORE INTO datasets (id, source, revision, sha256) VALUES (?, ?, ?, ?)").run(
      id,
      set.source,
      set.revision,
      set.sha256,
    );
    for (const q of questions) {
      addTask.run(
        id,
        q.id,
        q.question,
        q.answer,
        JSON.stringify(q.message_ids),
        q.inbox_address,
        q.query_date,
        q.how_realistic,
        q.split ?? set.split,
      );
    }
  })();
  return id;
}
