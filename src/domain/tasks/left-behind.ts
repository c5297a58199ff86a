import { z } from "zod";

/** At most so many pictures of a task are kept, of so many bytes each and together. */
export const MAX_PICTURES = 8;
export const MAX_PICTURE_BYTES = 300_000;
export const MAX_PICTURES_BYTES = 1_000_000;

/** A picture that an agent left in its task's machine: a file, or an output of a notebook's cell. */
export const pictureSchema = z.object({
  /** Of the file, in the machine. */
  path: z.string(),
  /** Of a notebook: the index of the cell that shows it, from 0. */
  cell: z.number().int().nonnegative().nullable(),
  width: z.number().int().positive(),
  height: z.number().int().positive(),
  /** A PNG in base64. */
  data: z.base64().max(Math.ceil(MAX_PICTURE_BYTES / 3) * 4),
});

export type Picture = Readonly<z.output<typeof pictureSchema>>;

export const leftBehindSchema = z.object({
  pictures: z.array(pictureSchema).max(MAX_PICTURES).readonly(),
  /** Pictures that were too many or too large. */
  omitted: z.number().int().nonnegative(),
});

/** What an agent left in its task's machine, as far as it is kept. */
export type LeftBehind = Readonly<z.output<typeof leftBehindSchema>>;
