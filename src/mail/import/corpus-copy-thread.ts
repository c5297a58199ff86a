// The thread of `copyMailOnThread`.
import { serveCalls } from "../../platform/worker-rpc.js";
import { copyMail, type MailCopy } from "./corpus-copy.js";

serveCalls((call: MailCopy) => {
  copyMail(call);
  return null;
});
