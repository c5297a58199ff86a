import { serveCalls } from "../../platform/worker-rpc.js";
import { copyMail, type MailCopy } from "./corpus-writer.js";

/** Entry point of the thread that `copyMailOnThread` starts. */

serveCalls((call: MailCopy) => {
  copyMail(call);
  return null;
});
