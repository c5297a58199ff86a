import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

/** The declarations that the build writes for users of the package. */
const ENTRIES = {
  "art-e": "dist/library.d.ts",
  "art-e/evals": "dist/library/evals.d.ts",
  "art-e/vitest": "dist/library/vitest.d.ts",
};

const FORMAT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

/** Returns the names and signatures of an entry point, in alphabetical order. */
function publicApi(program: ts.Program, file: string): string[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source as ts.SourceFile) as ts.Symbol);
  return exported
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .map((symbol, i) => ({ name: exported[i]?.name ?? "", symbol }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, symbol }) => {
      if (symbol.flags & (ts.SymbolFlags.Function | ts.SymbolFlags.Class)) {
        return [`${name}: ${checker.typeToString(checker.getTypeOfSymbol(symbol), undefined, FORMAT)}`];
      }
      const type = checker.getDeclaredTypeOfSymbol(symbol);
      if (type.isUnion())
        return [`${name} = ${checker.typeToString(type, undefined, FORMAT | ts.TypeFormatFlags.InTypeAlias)}`];
      const all = type.isClassOrInterface() ? checker.getBaseTypes(type) : [];
      const bases = all.filter((base) => exported.some((other) => other.name === base.symbol.name));
      const inherited = new Set(bases.flatMap((base) => base.getProperties().map((member) => member.name)));
      const own = type.getProperties().filter((member) => !inherited.has(member.name));
      const members = own.map((member) => {
        const optional = member.flags & ts.SymbolFlags.Optional ? "?" : "";
        const text = checker.typeToString(checker.getTypeOfSymbol(member), undefined, FORMAT);
        return `${member.name}${optional}: ${text.length > 160 ? "{...}" : text}`;
      });
      const [call] = type.getCallSignatures();
      const signature = call === undefined ? "" : `: ${checker.signatureToString(call, undefined, FORMAT)}`;
      return [
        `${name}${signature}${bases.length === 0 ? "" : ` extends ${bases.map((base) => base.symbol.name).join(", ")}`}`,
        ...wrapped(members),
      ];
    });
}

/** Joins members into lines of at most 120 characters. */
function wrapped(members: readonly string[]): string[] {
  const lines: string[] = [];
  for (const member of members) {
    const joined = `${lines.at(-1)}; ${member}`;
    if (lines.length > 0 && joined.length <= 116) lines.splice(-1, 1, joined);
    else lines.push(`  ${member}`);
  }
  return lines;
}

it("the public API matches the names and signatures of the snapshot (update it with -u)", async () => {
  const files = Object.values(ENTRIES).map((file) => join(import.meta.dirname, "../..", file));
  const options = { strict: true, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const program = ts.createProgram(files, { ...options, skipLibCheck: false, noEmit: true, types: [] });
  const problems = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  expect(problems).toEqual([]);
  const lines = Object.keys(ENTRIES).flatMap((name, i) => [
    name,
    ...publicApi(program, files[i] ?? "").map((line) => `  ${line}`),
  ]);
  expect(lines.length).toBeLessThanOrEqual(300);
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("public-api.txt");
});
