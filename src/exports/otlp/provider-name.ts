/** Providers that the GenAI conventions call otherwise. */
const CONVENTIONAL_NAMES: Readonly<Record<string, string>> = { google: "gcp.gemini" };

/** Of a model whose provider is not known. */
export const UNKNOWN_PROVIDER = "unknown";

/** `provider/name` as the conventions have it, in two attributes. */
export function conventionalModel(id: string): { readonly provider: string; readonly model: string } {
  const slash = id.indexOf("/");
  if (slash <= 0) return { provider: UNKNOWN_PROVIDER, model: id };
  const provider = id.slice(0, slash);
  return { provider: CONVENTIONAL_NAMES[provider] ?? provider, model: id.slice(slash + 1) };
}
