import { z } from "zod";
import { parseJsonOrNull } from "../../platform/parse-json.js";

const lines = z.union([z.string(), z.array(z.string()).transform((parts) => parts.join(""))]);

/** The outputs of a notebook, of which only pictures are read; what is written otherwise has none. */
const notebookSchema = z.object({
  cells: z.array(
    z.object({
      outputs: z
        .array(z.object({ data: z.object({ "image/png": lines.optional().catch(undefined) }).optional() }).catch({}))
        .catch([]),
    }),
  ),
});

/** A picture that a notebook shows. */
export interface NotebookPicture {
  /** Its index, from 0, as run_notebook counts them. */
  readonly cell: number;
  readonly bytes: Buffer;
}

export function notebookPictures(text: string): NotebookPicture[] {
  const notebook = notebookSchema.safeParse(parseJsonOrNull(text));
  if (!notebook.success) return [];
  return notebook.data.cells.flatMap(({ outputs }, i) =>
    outputs.flatMap(({ data }) => {
      const base64 = data?.["image/png"];
      return base64 === undefined ? [] : [{ cell: i, bytes: Buffer.from(base64, "base64") }];
    }),
  );
}
