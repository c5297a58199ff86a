import { stat } from "node:fs/promises";
import { UserError } from "../../domain/errors.js";
import type { CorpusSource, Email } from "../../domain/mail/email.js";
import { batchMails, type ReadResult } from "../batching.js";
import { parseEmail, TOO_LARGE } from "../mime/rfc822.js";
import { CsvFile, type CsvRow, readCsvHeader } from "./csv-file.js";
import { fileEmail, locateMail } from "./mail-location.js";

/** Kaggle's form (`wcukierski/enron-email-dataset`): `file` is the path under maildir, `message` the raw mail. */
export async function openKaggleCsv(path: string): Promise<CorpusSource> {
  const names = (await readCsvHeader(path)) ?? [];
  if (!isKaggleHeader(names)) {
    throw new UserError(
      "not_mail",
      `${path} is not a CSV with the columns file and message: its columns are ${names.join(", ") || "none"}`,
      "Leave --format out to have the form recognised.",
    );
  }
  const { size } = await stat(path);
  return {
    format: "kaggle-csv",
    totalBytes: size,
    batches(signal) {
      const csv = new CsvFile(path);
      return batchMails(readMails(csv, names), () => csv.bytesRead, signal);
    },
  };
}

export function isKaggleHeader(names: readonly string[]): boolean {
  return names.includes("file") && names.includes("message");
}

async function* readMails(csv: CsvFile, names: readonly string[]): AsyncGenerator<ReadResult | ReadResult[]> {
  const fileColumn = names.indexOf("file");
  const messageColumn = names.indexOf("message");
  const toFound = (email: Email | string, { row, fields }: CsvRow): ReadResult =>
    typeof email === "string"
      ? { bad: { where: `${csv.name} row ${row}`, reason: email } }
      : { email: fileEmail(email, locateMail(fields[fileColumn]?.toString("utf8") ?? ""), null) };
  for await (const rows of csv.rows()) {
    let ready: ReadResult[] = [];
    for (const row of rows) {
      const message = row.fields[messageColumn];
      const email =
        message === undefined || row.fields.length !== names.length
          ? `it has ${row.fields.length} fields where the header has ${names.length}`
          : message === null
            ? TOO_LARGE
            : parseEmail(message);
      if (email instanceof Promise) {
        yield ready;
        ready = [];
        yield toFound(await email, row);
      } else {
        ready.push(toFound(email, row));
      }
    }
    yield ready;
  }
}
