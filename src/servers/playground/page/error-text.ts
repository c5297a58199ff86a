/** The error of the API's answers. */
interface ErrorJson {
  readonly message: string;
  readonly details?: { readonly reason?: string; readonly hint?: string } | null;
}

/** What the page says where the server speaks of commands, flags or files; by the error's reason. */
const BY_REASON: Readonly<Record<string, string>> = {
  agent_unknown: "There is no such agent. Agents lists those there are.",
  tool_unknown: "There is no such tool. Tools lists those there are.",
  run_unknown: "There is no such run. Runs lists those there are.",
  trace_unknown: "There is no such trace. Traces lists those there are.",
  session_unknown: "There is no such chat any more. Begin a new session.",
  session_bound: "This chat belongs to another mailbox or day. Begin a new session.",
  mail_unknown: "This mail is not among those that were imported.",
  inbox_unknown: "No imported mail is from or to this address.",
  no_api_key: "The server has no key for this provider. Choose another model, such as offline/baseline.",
  no_model: "Name a model, such as offline/baseline or anthropic/NAME.",
  unknown_model:
    "It is not clear whose model this is. Put its provider before it: openai/NAME, anthropic/NAME, google/NAME.",
  unknown_provider:
    "Nobody knows the provider of this model. Models are named openai/NAME, anthropic/NAME, google/NAME.",
  contradictory_model: "The model belongs to another provider.",
  bad_base_url: "The address of the model server, which this server was started with, cannot be used.",
};

/** Their hints are for everybody: similar addresses. */
const WITH_HINT: ReadonlySet<string> = new Set(["inbox_unknown"]);

/** A word of the command line, which means nothing here. */
const COMMAND_LINE = /(^|\s|\()(--?[a-z]|art-e [a-z]+)/;

export function errorText({ message, details }: ErrorJson): string {
  const { reason = "", hint = "" } = details ?? {};
  const own = BY_REASON[reason];
  const isUseful = hint !== "" && !COMMAND_LINE.test(hint) && (own === undefined || WITH_HINT.has(reason));
  return isUseful ? `${own ?? message} ${hint}` : (own ?? message);
}
