import { serveCalls } from "../../platform/worker-rpc.js";
import { copyMail, type MailCopy } from "./corpus-writer.js";

/** The thread of `copyMailOnThread`. */

serveCalls((call: MailCopy) => {
  copyMail(call);
  return null;
});
