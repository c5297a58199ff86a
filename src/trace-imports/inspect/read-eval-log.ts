import type { ImportSource } from "../imported-trace.js";
import { notUsable, parseLine } from "../parse-line.js";
import { type LogPart, readLog } from "./read-log.js";
import { BrokenZip, ZipEntries } from "./zip-entries.js";

/** An Inspect log as an `.eval` file: a zip with a file for the header and one for each sample. */
export function readEvalFile(file: string): ImportSource {
  return readLog(partsOf(file));
}

/** The header of a log that nobody finished is the start of its journal. */
const HEADERS = ["header.json", "_journal/start.json"];

async function* partsOf(file: string): AsyncGenerator<LogPart> {
  let zip: ZipEntries | undefined;
  try {
    zip = await ZipEntries.open(file);
    const names = zip.names();
    const head = HEADERS.find((name) => names.includes(name));
    if (head === undefined) throw notUsable(file, `is a zip without ${HEADERS.join(" or ")}, so no Inspect log`);
    yield { header: await jsonOf(zip, head), where: `${file}, ${head}` };
    for (const name of names) {
      if (!name.startsWith("samples/") || !name.endsWith(".json")) continue;
      yield { sample: await jsonOf(zip, name), where: `${file}, ${name}` };
    }
  } catch (error) {
    throw error instanceof BrokenZip ? notUsable(file, `cannot be read as a zip: ${error.message}`) : error;
  } finally {
    zip?.close();
  }

  async function jsonOf(entries: ZipEntries, name: string): Promise<unknown> {
    return parseLine((await entries.text(name)) ?? "", `${file}, ${name}`);
  }
}
