import { serveCalls } from "../../platform/worker-rpc.js";
import { copyMail, type MailCopy } from "./copy-mail.js";

/** Entry point of the thread that `copyMailOnThread` starts. */

serveCalls((call: MailCopy) => {
  copyMail(call);
  return null;
});
