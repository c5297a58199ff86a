import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { UserError } from "../domain/errors.js";
import { CORPUS_FORMATS, type CorpusFormat, type CorpusSource } from "../domain/mail/email.js";
import { type DetectedFormat, detectFormat } from "./detect-format.js";
import { openEml } from "./readers/eml.js";
import { openKaggleCsv } from "./readers/kaggle-csv.js";
import { openMaildir } from "./readers/maildir.js";
import { openMbox } from "./readers/mbox.js";
import { openParquet } from "./readers/parquet.js";
import { openParsedCsv } from "./readers/parsed-csv.js";
import { openTarball } from "./readers/tarball.js";
import { isSystemError, unreadable } from "./source-errors.js";

const OPENERS: Readonly<Record<CorpusFormat, (path: string, files: readonly string[]) => Promise<CorpusSource>>> = {
  maildir: openMaildir,
  tar: openTarball,
  "kaggle-csv": openKaggleCsv,
  "parsed-csv": openParsedCsv,
  parquet: (_path, files) => openParquet(files),
  mbox: (_path, files) => openMbox(files),
  eml: openEml,
};

const FORMS =
  "a maildir folder, a tar archive (gzipped or not), Kaggle's emails.csv, a parsed CSV, Parquet, an mbox (gzipped or not) or one mail (.eml)";

/**
 * Opens a source of mail; a null `format` is detected by content. Reads headers and footers only.
 * @throws UserError where the path does not exist, no format fits, or the content does not match `format`
 */
export async function openCorpus(path: string, format: CorpusFormat | null): Promise<CorpusSource> {
  try {
    const stats = await stat(path);
    if (!stats.isFile() && !stats.isDirectory()) throw unknownFormat(path, "neither a file nor a folder");
    const known = await detectFormat(path, stats);
    if (format !== null) checkFormat(path, stats.isDirectory(), format, known);
    const chosen = format ?? known.format;
    if (chosen === null) throw unknownFormat(path, known.instead);
    const source = await OPENERS[chosen](path, known.files);
    return stats.isFile() ? withChangeCheck(path, stats, source) : source;
  } catch (error) {
    throw isSystemError(error) ? unreadable(path, error) : error;
  }
}

/** Throws at the end if the file changed while it was read, as it may have yielded old and new content. */
function withChangeCheck(path: string, opened: Stats, source: CorpusSource): CorpusSource {
  return {
    ...source,
    async *batches(signal) {
      yield* source.batches(signal);
      const { size, mtimeMs } = await stat(path);
      if (size === opened.size && mtimeMs === opened.mtimeMs) return;
      throw new UserError(
        "source_changed",
        `${path} changed while it was read: it had ${opened.size} bytes and has ${size}`,
        "Wait until it is written, then import it again.",
        1,
      );
    },
  };
}

/** Accepts a named format that the content may have, such as a tar too old for the `ustar` mark. */
function checkFormat(path: string, isFolder: boolean, format: CorpusFormat, known: DetectedFormat): void {
  if (format === known.format) return;
  const bothCsv = format.endsWith("-csv") && known.format?.endsWith("-csv");
  const possible = isFolder ? format === "maildir" : format !== "maildir" && (known.format === null || bothCsv);
  if (possible) return;
  const found = known.format ?? known.instead ?? (isFolder ? "a folder" : "a file");
  throw new UserError(
    "wrong_format",
    `${path} cannot be read as ${format}: it is ${found}`,
    known.format === null
      ? `Name a source that holds ${FORMS}.`
      : `Leave --format out, or give --format ${known.format}.`,
  );
}

function unknownFormat(path: string, instead: string | null): UserError {
  return new UserError(
    "unknown_format",
    `${path} is not mail in a form that can be read${instead === null ? "" : `: it is ${instead}`}`,
    `Known are ${FORMS}. If it is one of these, name it: --format ${CORPUS_FORMATS.join("|")}.`,
  );
}
