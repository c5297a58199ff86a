/** The thread of `copyMailOnThread`. */
import { parentPort } from "node:worker_threads";
import type { RpcAnswer, RpcCall } from "../../platform/worker-rpc.js";
import { copyMail, type MailCopy } from "./copy-mail.js";

function answer({ id, call }: RpcCall<MailCopy>): RpcAnswer<null> {
  try {
    copyMail(call);
    return { id, answer: null };
  } catch (thrown) {
    const { message, code } = thrown as Error & { code?: string };
    return { id, error: { message, code } };
  }
}

parentPort?.on("message", (calls: readonly RpcCall<MailCopy>[]) => parentPort?.postMessage(calls.map(answer)));
