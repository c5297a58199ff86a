// Opens a database for a program. Reading code is loaded at the first call.
import { definedProperties } from "../platform/optional-values.js";
import type { ArtEDatabase } from "./database.js";
import { contextOf } from "./options/context.js";
import type { LibraryOptions } from "./options.js";
import type { ChatTrace, Trace } from "./published-types.js";

/**
 * Opens an existing database. Like every command, this migrates a database of an earlier release. Throws an `ArtEError`
 * if the file does not exist or is not a database of art-e.
 */
export async function openDatabase(db?: string, options: LibraryOptions = {}): Promise<ArtEDatabase> {
  const { openArtEDatabase } = await import("./open-database/stored-data.js");
  return openArtEDatabase(contextOf({ ...options, ...definedProperties({ db }) }));
}

/** Returns one trace, and closes the database again. To fetch many, open the database once. */
export async function fetchTrace(traceId: string, options: LibraryOptions = {}): Promise<Trace | ChatTrace> {
  const database = await openDatabase(undefined, options);
  try {
    return database.fetchTrace(traceId);
  } finally {
    database.close();
  }
}
