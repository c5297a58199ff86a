import { createReadStream } from "node:fs";
import { parse } from "csv-parse";

/**
 * Reads mail from Kaggle's CSV like a short script: header and body split at the first empty line, without MIME and
 * charsets.
 */

export interface PlainMail {
  readonly file: string;
  readonly messageId: string;
  readonly subject: string;
  readonly from: string;
  readonly to: string[];
  readonly cc: string[];
  readonly bcc: string[];
  readonly date: string | null;
  readonly body: string;
}

export async function* readPlainMails(csv: string): AsyncGenerator<PlainMail> {
  for await (const { file, message } of createReadStream(csv).pipe(parse({ columns: true }))) {
    const [, head = "", body = ""] = /^(.*?)\r?\n\r?\n(.*)$/s.exec(message as string) ?? [];
    const headers = new Map<string, string>();
    for (const line of head.replace(/\r?\n[ \t]+/g, " ").split(/\r?\n/)) {
      const colon = line.indexOf(": ");
      if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 2));
    }
    const list = (name: string) => (headers.get(name) ?? "").split(/,\s*/).filter((address) => address !== "");
    const date = new Date(headers.get("date") ?? "");
    yield {
      file: file as string,
      messageId: headers.get("message-id") ?? "",
      subject: headers.get("subject") ?? "",
      from: headers.get("from") ?? "",
      to: list("to"),
      cc: list("cc"),
      bcc: list("bcc"),
      date: Number.isNaN(date.getTime()) ? null : date.toISOString(),
      body,
    };
  }
}
