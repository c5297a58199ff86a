import { parseArguments } from "../../definition/parse-arguments.js";
import { attachInboxSchema } from "../../email/attached-inbox.js";
import { DONE, type SetupAction } from "../setup-action.js";

/** ART-E's `attach_inbox`: the mail is in the database, and the tools are bound to what the arguments name. */
export const attachInbox: SetupAction = async (args) => {
  parseArguments(attachInboxSchema, args);
  return DONE;
};
