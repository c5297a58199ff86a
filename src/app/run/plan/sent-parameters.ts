import type { RunSettings } from "../../../domain/runs/benchmark-result.js";
import { rulesFor, sentParameters } from "../../../models/catalog/request-parameters.js";
import { checkBaseUrl } from "../../../models/endpoint.js";
import { parseModelName } from "../../../models/model-name.js";
import { wireApiOf } from "../../../models/resolve-model.js";

/** The settings with the parameters that are really sent: some models do not accept all of them. */
export function withSent({ sent: _, ...settings }: RunSettings): RunSettings {
  const { maxTokens, reasoningTokens, temperature, tools } = settings;
  const baseUrl = settings.baseUrl === null ? null : checkBaseUrl(settings.baseUrl);
  const rules = rulesFor(parseModelName(settings.model, null), wireApiOf(settings.wireApi, baseUrl));
  if (rules === null) return settings;
  const toolChoice = settings.toolChoice === "required" ? "required" : "auto";
  const asked = { maxTokens, reasoningTokens, temperature: temperature ?? undefined, toolChoice } as const;
  return { ...settings, sent: sentParameters(rules, { ...asked, hasTools: tools.length > 0 }) };
}

const FLAGS: Readonly<Record<string, string>> = { temperature: "temperature", toolChoice: "tool choice" };

/** One line for each parameter of the user that is not sent as given. */
export function notesOnSent({ sent, model }: RunSettings): string[] {
  return (sent?.adjusted ?? [])
    .filter(({ parameter }) => parameter in FLAGS)
    .map(({ parameter, asked, sent: instead, reason }) => {
      const what = instead === null ? "is not sent" : `is sent as ${instead}`;
      return `art-e: the ${FLAGS[parameter]} ${asked} ${what} to ${model}: ${reason}.`;
    });
}
