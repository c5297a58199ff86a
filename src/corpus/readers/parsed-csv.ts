import { stat } from "node:fs/promises";
import { z } from "zod";
import type { CorpusSource } from "../../domain/mail/email.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";
import { batchMails, type ReadResult } from "../batching.js";
import { buildEmailFromRow, type EmailFields } from "../mime/build-email.js";
import { parseIsoDate, parseMailDate } from "../mime/mail-date.js";
import { TOO_LARGE } from "../mime/rfc822.js";
import { CsvFile, type CsvRow, readCsvHeader } from "./csv-file.js";
import { fileEmail, locateMail } from "./mail-location.js";
import { type Column, mailColumns } from "./table-columns.js";

/**
 * Parsed mails, one per row: `message_id,inbox,subject,sender,recipients,date,body` in any order. `recipients` (a
 * JSON array or a comma list) become `to`; columns cc and bcc are optional.
 */
export async function openParsedCsv(path: string): Promise<CorpusSource> {
  const names = (await readCsvHeader(path)) ?? [];
  const columns = mailColumns(names, path);
  const positions = new Map([...columns].map(([column, name]) => [column, names.indexOf(name)]));
  const { size } = await stat(path);
  return {
    format: "parsed-csv",
    totalBytes: size,
    batches(signal) {
      const csv = new CsvFile(path);
      return batchMails(readMails(csv, positions, names.length), () => csv.bytesRead, signal);
    },
  };
}

async function* readMails(
  csv: CsvFile,
  positions: ReadonlyMap<Column, number>,
  width: number,
): AsyncGenerator<ReadResult[]> {
  for await (const rows of csv.rows()) yield rows.map((row) => readMail(row, csv.name, positions, width));
}

function readMail(
  { row, fields }: CsvRow,
  file: string,
  positions: ReadonlyMap<Column, number>,
  width: number,
): ReadResult {
  const text = (column: Column) => fields[positions.get(column) ?? -1]?.toString("utf8") ?? "";
  const email = fields.includes(null)
    ? TOO_LARGE
    : fields.length === width
      ? buildEmailFromRow(fieldsOf(text))
      : `it has ${fields.length} fields where the header has ${width}`;
  if (typeof email === "string") return { bad: { where: `${file} row ${row}`, reason: email } };
  return { email: fileEmail(email, locateMail(text("path")), text("inbox").trim().toLowerCase() || null) };
}

function fieldsOf(text: (column: Column) => string): EmailFields {
  return {
    messageId: text("messageId"),
    subject: text("subject"),
    from: text("from"),
    to: addressList(text("to")),
    cc: addressList(text("cc")),
    bcc: addressList(text("bcc")),
    date: parseIsoDate(text("date")) ?? parseMailDate(text("date")),
    body: text("body"),
  };
}

const jsonList = z.array(z.string());

/** A comma list from a JSON list, a Python list (`['a', 'b']`) or a comma list. */
function addressList(text: string): string {
  const list = text.trim();
  if (!list.startsWith("[")) return list;
  const parsed = jsonList.safeParse(parseJsonOrNull(list));
  if (parsed.success) return parsed.data.map((address) => address.toWellFormed()).join(", ");
  const items = list.replace(/^\[|\]$/g, "").split(",");
  return items.map((item) => item.trim().replace(/^(['"])(.*)\1$/, "$2")).join(", ");
}
