import { z } from "zod";

/** `${ENV:NAME}` stands for an environment variable; it is filled in for each call and never stored. */
const REFERENCE = /\$\{ENV:([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Headers that carry a secret: their values must come from the environment. */
const SECRET_HEADER = /^(authorization|proxy-authorization|cookie)$|(api[-_]?key|token|secret|password)$/i;

export const environmentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of a variable");

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "expected the name of a header");

/** Headers as stored: no line ends, and secrets only as references to the environment. */
export const headersSchema = z
  .record(headerName, z.string().max(4_000))
  .superRefine((headers, issues) => {
    for (const [name, value] of Object.entries(headers)) {
      if (/[\r\n\0]/.test(value)) issues.addIssue({ code: "custom", path: [name], message: "has a line end in it" });
      if (SECRET_HEADER.test(name) && value.search(REFERENCE) === -1) {
        issues.addIssue({
          code: "custom",
          path: [name],
          message: `would keep a secret in the file: put it in the environment and write \${ENV:NAME} here`,
        });
      }
    }
  })
  .default({});

export type Filled =
  | { readonly ok: true; readonly values: Record<string, string> }
  | { readonly ok: false; readonly missing: string };

/** Fills in variables; returns the name of the first that is not set. */
export function fillInVariables(
  texts: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
): Filled {
  let missing: string | null = null;
  const values = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [
      key,
      text.replace(REFERENCE, (_, name: string) => {
        if (!env[name]) missing ??= name;
        return env[name] ?? "";
      }),
    ]),
  );
  return missing === null ? { ok: true, values } : { ok: false, missing };
}

/** The values of referenced variables, to be redacted from results. */
export function secretsIn(
  texts: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const names = Object.values(texts).flatMap((text) => [...text.matchAll(REFERENCE)].map(([, name = ""]) => name));
  return [...new Set(names)].flatMap((name) => env[name] ?? []);
}

/** The environment of an external program or module: PATH, HOME, LANG and the named variables. */
export function cleanEnvironment(names: readonly string[], env: Readonly<Record<string, string | undefined>>): Filled {
  const values: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "LANG"]) if (env[name] !== undefined) values[name] = env[name];
  for (const name of names) {
    const value = env[name];
    if (!value) return { ok: false, missing: name };
    values[name] = value;
  }
  return { ok: true, values };
}
