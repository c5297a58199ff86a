import { corpusDescriptionSchema } from "../../app/corpus-snapshot/snapshot-description.js";
import { ApiError } from "../http/api-error.js";
import { defineRoute, type Route } from "../http/route.js";
import type { Services } from "../http/route-services.js";
import { sendFile } from "../http/send-file.js";

/** The server's mail for workers on other machines: never runs, chats or agents. */
export function corpusRoutes({ corpus }: Services): Route[] {
  const tag = "corpus";
  return [
    defineRoute({
      method: "get",
      path: "/api/corpus",
      tag,
      summary: "The mail, and its snapshot: a compressed database that is made when it is first asked for",
      status: 200,
      response: corpusDescriptionSchema,
      handle: () => corpus.describe(),
    }),
    defineRoute({
      method: "get",
      path: "/api/corpus/:fingerprint/snapshot",
      tag,
      summary: "The bytes of the snapshot (gzip); Range with If-Range continues a download",
      status: 200,
      response: null,
      async handle({ params, header }) {
        const found = await corpus.open(params.fingerprint);
        if (found === null) throw new ApiError("NOT_FOUND", "There is no such snapshot. See /api/corpus.");
        const { path, file } = found;
        return sendFile({ path, bytes: file.bytes, type: "application/gzip", etag: `"${file.sha256}"` }, header);
      },
    }),
  ];
}
