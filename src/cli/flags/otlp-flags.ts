import { z } from "zod";
import { SCORE_APIS } from "../../trace-formats/otlp-server.js";
import { contradiction, oneOf, url } from "./read-flags.js";

export const otlpShape = {
  otlp: z
    .boolean()
    .default(false)
    .meta({ description: "Send the traces to the server in OTEL_EXPORTER_OTLP_ENDPOINT" }),
  otlpEndpoint: url
    .optional()
    .meta({ description: "Send the traces to this OTLP endpoint, with the keys from OTEL_EXPORTER_OTLP_HEADERS" }),
  scores: oneOf(SCORE_APIS)
    .optional()
    .meta({ description: `Also send the scores, to the API of ${SCORE_APIS.join(" or ")} at the same server` }),
  noContent: z
    .boolean()
    .default(false)
    .meta({ description: "With --otlp: leave out messages, calls, answers and reasons" }),
};

const shape = z.object(otlpShape);

/** Returns whether to send traces. Throws a UserError for `--scores` without a server. */
export function sendsTraces({ otlp, otlpEndpoint, scores }: z.output<typeof shape>): boolean {
  const sends = otlp || otlpEndpoint !== undefined;
  if (!sends && scores !== undefined) {
    throw contradiction(
      "--scores sends scores beside traces, and no traces are to be sent.",
      "Add --otlp-endpoint URL, or --otlp.",
    );
  }
  return sends;
}
