// A trace as `export-traces` writes it on a line.
import { z } from "zod";
import { traceSchema } from "../../src/traces/trace.js";

export const featuresSchema = z
  .record(z.string(), z.number().nullable())
  .meta({ description: "Values of the features that evals can bound. Null if a feature does not apply." });

/** Accepts only complete lines without other fields. */
export const exportedTraceSchema = traceSchema.strict().extend({ features: featuresSchema });
