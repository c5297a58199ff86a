// The attachments of Apple Mail's `Messages/9.partial.emlx`. Apple Mail leaves their parts empty, and stores them in
// `Attachments/9/NUMBER/`, where NUMBER is the number of the part, such as 2 or 1.2.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Larger attachments stay empty. */
const MAX_BYTES = 16 * 1024 * 1024;

export function isPartialEmlx(name: string): boolean {
  return /\.partial\.emlx$/i.test(name);
}

/** Returns an email with the content of its attachments. */
export function withEmlxAttachments(mail: Buffer, path: string): Buffer {
  const folder = join(dirname(dirname(path)), "Attachments", basename(path).replace(/\.partial\.emlx$/i, ""));
  const lines = mail.toString("latin1").split("\n");
  const multiparts: { readonly boundary: string; part: number }[] = [];
  const written: string[] = [];
  let isReplaced = false;
  for (let i = 0; i < lines.length; ) {
    const level = multiparts.findLastIndex(({ boundary }) => isBoundary(lines[i] as string, boundary));
    if (level === -1 && i > 0) {
      if (!isReplaced) written.push(lines[i] as string);
      i++;
      continue;
    }
    isReplaced = false;
    multiparts.length = level + 1;
    const multipart = multiparts.at(-1);
    if (multipart !== undefined) {
      written.push(lines[i++] as string);
      if (/--\s*$/.test((lines[i - 1] as string).slice(multipart.boundary.length + 2))) {
        multiparts.pop();
        continue;
      }
      multipart.part++;
    }
    const end = lines.findIndex((line, at) => at >= i && line.trim() === "");
    const header = lines.slice(i, end === -1 ? lines.length : end);
    i += header.length;
    const text = header.join("\n");
    const number = multiparts.map(({ part }) => part).join(".");
    const content = /^x-apple-content-length:/im.test(text) ? readFileIn(join(folder, number)) : null;
    isReplaced = content !== null;
    written.push(...(content === null ? header : [...header.filter(isNotEncoding), ...encoded(content)]));
    const boundary = /^content-type:[^\n]*(?:\n[ \t][^\n]*)*?boundary="?([^"\s;]+)/im.exec(text)?.[1];
    if (boundary !== undefined) multiparts.push({ boundary, part: 0 });
  }
  return Buffer.from(written.join("\n"), "latin1");
}

function isBoundary(line: string, boundary: string): boolean {
  return line.startsWith(`--${boundary}`) && /^(?:--)?\s*$/.test(line.slice(boundary.length + 2));
}

function isNotEncoding(line: string): boolean {
  return !/^content-transfer-encoding:/i.test(line);
}

function encoded(content: Buffer): string[] {
  return ["Content-Transfer-Encoding: base64", "", content.toString("base64"), ""];
}

/** Returns the content of the only file in a folder, or null if there is none. */
function readFileIn(folder: string): Buffer | null {
  try {
    const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
    const path = join(folder, files.find(({ name }) => !name.startsWith("."))?.name ?? "");
    const { size } = statSync(path);
    return size <= MAX_BYTES ? readFileSync(path) : null;
  } catch {
    // The attachment was not downloaded.
    return null;
  }
}
