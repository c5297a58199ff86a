import type { Question } from "../../domain/tasks/question.js";
import type { TableFormat } from "./encode-table.js";
import type { Column } from "./table.js";

/** In the metadata of a Parquet file of questions. */
export const QUESTIONS_TABLE = "questions";

/** A dataset of questions, as `run --dataset` reads it in any of the formats. */
export function questionsTable(format: TableFormat): {
  readonly name: string;
  readonly columns: readonly Column<Question>[];
} {
  return {
    name: QUESTIONS_TABLE,
    columns: [
      { name: "id", type: "integer", read: ({ id }) => id },
      { name: "question", type: "text", read: ({ question }) => question },
      { name: "answer", type: "text", read: ({ answer }) => answer },
      format === "csv"
        ? // A cell is one text, and a Message-ID may hold any separator.
          { name: "message_ids", type: "text", read: (row) => JSON.stringify(row.message_ids) }
        : { name: "message_ids", type: "texts", read: (row) => row.message_ids },
      { name: "how_realistic", type: "number", read: (row) => row.how_realistic },
      { name: "inbox_address", type: "text", read: (row) => row.inbox_address },
      { name: "query_date", type: "text", read: (row) => row.query_date },
      { name: "split", type: "text", read: ({ split }) => split ?? null },
    ],
  };
}
