import { z } from "zod";

/** A compressed database with the mail of a server, ready to be downloaded. */
export const snapshotFileSchema = z.strictObject({
  /** Of the mail: equal for the same mail in the same mailboxes. */
  fingerprint: z.string().regex(/^[0-9a-f]{64}$/),
  /** Of the file that is sent. */
  bytes: z.number().int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Of the database in it. */
  database_bytes: z.number().int().positive(),
});

export type SnapshotFile = z.output<typeof snapshotFileSchema>;

/** What a server says of its mail. */
export const corpusDescriptionSchema = z.strictObject({
  version: z.string().meta({ description: "Of art-e: a snapshot is for the same version" }),
  fingerprint: z.string(),
  snapshot: snapshotFileSchema.nullable().meta({ description: "Null while it is made: ask again" }),
});

export type CorpusDescription = z.output<typeof corpusDescriptionSchema>;
