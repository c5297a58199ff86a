// Derives the JSON Schema of each command's `--json` output from the TypeScript types in the source: a command prints
// what it passes to `Output.result`.
import { join } from "node:path";
import ts from "typescript";

/** JSON Schema of the outputs, as a path of the package. */
export const OUTPUTS = "schema/outputs.schema.json";

interface JsonSchema {
  readonly [keyword: string]: unknown;
}

const SOURCE = join(import.meta.dirname, "../src");
const TABLE = join(SOURCE, "cli/command-table.ts");

/** Returns one JSON Schema with a definition per command, such as `runs list`, and the types that they share. */
export function outputSchemas(): string {
  const program = ts.createProgram([TABLE], compilerOptions());
  const checker = program.getTypeChecker();
  const types = new TypeSchemas(checker, namesOfTypes(program));
  const definitions = commandsIn(sourceFile(program, TABLE)).flatMap(({ name, exported }): [string, JsonSchema][] => {
    const results = printedBy(declarationOf(program, exported), checker)
      .map((node) => checker.getTypeAtLocation(node))
      .filter(({ flags }) => !(flags & ts.TypeFlags.Undefined));
    // A command without a document is a protocol, such as a queue worker.
    return results.length === 0 ? [] : [[name, anyOf(results.map((type) => types.schemaOf(type, name)))]];
  });
  // One definition per line, because indentation triples the size of the file.
  const lines = [...definitions, ...types.definitions()].map(
    ([name, schema]) => `${JSON.stringify(name)}:${JSON.stringify(schema)}`,
  );
  const head = JSON.stringify({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "JSON outputs of ART-E",
    description: "The document that a command prints with --json: `#/$defs/runs%20list` for art-e runs list --json.",
  });
  return `${head.slice(0, -1)},"$defs":{\n${lines.join(",\n")}\n}}\n`;
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(SOURCE, "../tsconfig.json"), ts.sys.readFile);
  return ts.parseJsonConfigFileContent(config, ts.sys, join(SOURCE, "..")).options;
}

function sourceFile(program: ts.Program, path: string): ts.SourceFile {
  const file = program.getSourceFile(path);
  if (file === undefined) throw new Error(`${path} is not part of the program`);
  return file;
}

/** Returns the full name of each command of the table, with the name of the constant that defines it. */
function commandsIn(table: ts.SourceFile): { readonly name: string; readonly exported: string }[] {
  const found: { name: string; exported: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      const [usage, , load, subcommands] = node.arguments;
      if (node.expression.text === "command" && load !== undefined && ts.isArrowFunction(load)) {
        found.push({ name: firstWord(usage), exported: (load.body as ts.PropertyAccessExpression).name.text });
      }
      if (node.expression.text === "group" && subcommands !== undefined) {
        for (const each of (subcommands as ts.ArrayLiteralExpression).elements) {
          const [subusage, , exported] = (each as ts.ArrayLiteralExpression).elements;
          found.push({
            name: `${firstWord(usage)} ${firstWord(subusage)}`,
            exported: (exported as ts.StringLiteral).text,
          });
        }
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(table);
  return found;
}

function firstWord(usage: ts.Node | undefined): string {
  return (usage as ts.StringLiteral).text.split(" ")[0] ?? "";
}

function declarationOf(program: ts.Program, exported: string): ts.Node {
  const checker = program.getTypeChecker();
  const commandFiles = program.getSourceFiles().filter(({ fileName }) => fileName.includes("/src/cli/commands/"));
  for (const file of commandFiles) {
    const module = checker.getSymbolAtLocation(file);
    const symbol = module && checker.getExportsOfModule(module).find(({ name }) => name === exported);
    if (symbol?.valueDeclaration !== undefined) return symbol.valueDeclaration;
  }
  throw new Error(`no file of src/cli/commands exports ${exported}`);
}

/** Returns the first argument of each `Output.result` call in the command, and in the functions of `src/cli` it uses. */
function printedBy(command: ts.Node, checker: ts.TypeChecker): ts.Expression[] {
  const printed: ts.Expression[] = [];
  const seen = new Set<ts.Node>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [json] = node.arguments;
      if (json !== undefined && isResultOfOutput(node.expression, checker)) printed.push(json);
    }
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node);
      const target = symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const declaration = target?.valueDeclaration;
      const isFollowed =
        declaration !== undefined &&
        (ts.isFunctionDeclaration(declaration) || ts.isVariableDeclaration(declaration)) &&
        declaration.getSourceFile().fileName.includes("/src/cli/");
      if (isFollowed && !seen.has(declaration)) {
        seen.add(declaration);
        visit(declaration);
      }
    }
    ts.forEachChild(node, visit);
  };
  seen.add(command);
  visit(command);
  return printed;
}

function isResultOfOutput(callee: ts.Expression, checker: ts.TypeChecker): boolean {
  if (!ts.isPropertyAccessExpression(callee) || callee.name.text !== "result") return false;
  const declaration = checker.getSymbolAtLocation(callee.name)?.valueDeclaration;
  return (
    declaration !== undefined &&
    ts.isInterfaceDeclaration(declaration.parent) &&
    declaration.parent.name.text === "Output"
  );
}

/** Converts types to JSON Schema. Named types of the source become definitions. */
class TypeSchemas {
  readonly #referenced = new Map<ts.Type, string>();
  readonly #definitions = new Map<string, JsonSchema>();
  /** Types that are being written, from the outermost to the innermost. */
  readonly #open: ts.Type[] = [];

  constructor(
    private readonly checker: ts.TypeChecker,
    private readonly names: ReadonlyMap<ts.Type, string>,
  ) {}

  definitions(): [string, JsonSchema][] {
    return [...this.#definitions].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  schemaOf(type: ts.Type, path: string): JsonSchema {
    const name = this.names.get(type);
    if (name === undefined) return this.#write(type, path);
    const known = this.#referenced.get(type);
    if (known !== undefined) return { $ref: `#/$defs/${known}` };
    if (this.#definitions.has(name)) throw new Error(`${path}: two types have the name ${name}`);
    this.#referenced.set(type, name);
    this.#definitions.set(name, {});
    this.#definitions.set(name, this.#write(type, name));
    return { $ref: `#/$defs/${name}` };
  }

  #write(type: ts.Type, path: string): JsonSchema {
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return {};
    if (type.flags & ts.TypeFlags.NonPrimitive) return { type: "object" };
    if (type.flags & ts.TypeFlags.Null) return { type: "null" };
    if (type.isStringLiteral() || type.isNumberLiteral()) return { const: type.value };
    if (type.flags & ts.TypeFlags.BooleanLiteral) return { const: this.checker.typeToString(type) === "true" };
    if (type.flags & ts.TypeFlags.StringLike) return { type: "string" };
    if (type.flags & ts.TypeFlags.NumberLike) return { type: "number" };
    if (type.flags & ts.TypeFlags.BooleanLike) return { type: "boolean" };
    if (type.isUnion()) return this.#union(type.types, path);
    if (type.flags & ts.TypeFlags.TypeParameter) {
      const constraint = this.checker.getBaseConstraintOfType(type);
      return constraint === undefined ? {} : this.schemaOf(constraint, path);
    }
    if (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return this.#object(type, path);
    throw new Error(`${path}: JSON cannot contain ${this.checker.typeToString(type)}`);
  }

  #union(types: readonly ts.Type[], path: string): JsonSchema {
    const present = types.filter(({ flags }) => !(flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Void)));
    return anyOf(present.map((type) => this.schemaOf(type, path)));
  }

  #object(type: ts.Type, path: string): JsonSchema {
    const { checker } = this;
    if (this.#open.includes(type)) throw new Error(`${path}: a recursive type needs a name`);
    if (checker.isTupleType(type)) {
      return { type: "array", prefixItems: this.#within(type, () => this.#elements(type, path)) };
    }
    if (checker.isArrayType(type)) {
      return { type: "array", ...this.#within(type, () => ({ items: this.#elements(type, path)[0] ?? {} })) };
    }
    const library = type.symbol?.declarations?.some((each) => each.getSourceFile().hasNoDefaultLib)
      ? type.symbol.name
      : "";
    if (library === "Date") return { type: "string", format: "date-time" };
    if (/^(Readonly)?(Map|Set)$/.test(library)) throw new Error(`${path}: JSON cannot contain a ${library}`);
    return this.#within(type, () => this.#properties(type, path));
  }

  #elements(type: ts.Type, path: string): JsonSchema[] {
    return this.checker.getTypeArguments(type as ts.TypeReference).map((each) => this.schemaOf(each, `${path}[]`));
  }

  #properties(type: ts.Type, path: string): JsonSchema {
    const { checker } = this;
    const properties: Record<string, JsonSchema> = {};
    const required: string[] = [];
    for (const property of checker.getPropertiesOfType(type)) {
      const value = checker.getTypeOfSymbol(property);
      if (value.getCallSignatures().length > 0 || value.flags & ts.TypeFlags.Undefined) continue;
      const description = ts.displayPartsToString(property.getDocumentationComment(checker)).replaceAll("\n", " ");
      properties[property.name] = {
        ...this.schemaOf(value, `${path}.${property.name}`),
        ...(description === "" ? {} : { description }),
      };
      const types = value.isUnion() ? value.types : [value];
      const canBeMissing =
        (property.flags & ts.SymbolFlags.Optional) !== 0 || types.some(({ flags }) => flags & ts.TypeFlags.Undefined);
      if (!canBeMissing) required.push(property.name);
    }
    const index = checker.getIndexTypeOfType(type, ts.IndexKind.String);
    return {
      type: "object",
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
      ...(required.length > 0 ? { required } : {}),
      ...(index === undefined ? {} : { additionalProperties: this.schemaOf(index, `${path}.*`) }),
    };
  }

  /** Notes the type while its parts are written, so that a recursive type is found. */
  #within<T>(type: ts.Type, write: () => T): T {
    this.#open.push(type);
    try {
      return write();
    } finally {
      this.#open.pop();
    }
  }
}

/** Returns the names of the types that the source declares without type parameters. */
function namesOfTypes(program: ts.Program): ReadonlyMap<ts.Type, string> {
  const checker = program.getTypeChecker();
  const declared = program
    .getSourceFiles()
    .filter(({ fileName }) => fileName.startsWith(SOURCE))
    .flatMap(({ statements }) => [...statements])
    .filter((each) => ts.isInterfaceDeclaration(each) || ts.isTypeAliasDeclaration(each))
    .filter(({ typeParameters }) => typeParameters === undefined);
  const structured = ts.TypeFlags.Object | ts.TypeFlags.Union | ts.TypeFlags.Intersection;
  return new Map(
    declared
      .map(({ name }): [ts.Type, string] => [checker.getTypeAtLocation(name), name.text])
      .filter(([{ flags }]) => flags & structured),
  );
}

/** Returns a schema that accepts what any of the schemas accepts. */
function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  const constants = different.filter((schema) => "const" in schema).map((schema) => schema.const);
  const isBoolean = constants.includes(true) && constants.includes(false);
  const values = isBoolean ? constants.filter((value) => typeof value !== "boolean") : constants;
  const isOnlyType = (schema: JsonSchema) => Object.keys(schema).join() === "type";
  const simple = different.filter(isOnlyType).flatMap(({ type }) => type);
  const types = [...new Set([...simple, ...(isBoolean ? ["boolean"] : [])])];
  const parts = [
    ...mergeObjects(different.filter((schema) => !("const" in schema) && !isOnlyType(schema))),
    ...(values.length === 0 ? [] : [values.length === 1 ? { const: values[0] } : { enum: values }]),
    ...(types.length === 0 ? [] : [{ type: types.length === 1 ? types[0] : types }]),
  ];
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { anyOf: parts };
}

/**
 * Merges objects that differ only in a few properties into one with optional properties. TypeScript makes such unions of
 * a spread value that can be missing. Objects that a constant tells apart, such as a `kind`, stay separate.
 */
function mergeObjects(schemas: readonly JsonSchema[]): readonly JsonSchema[] {
  const all = schemas.map(({ properties }) => (properties ?? {}) as Readonly<Record<string, JsonSchema>>);
  const names = [...new Set(all.flatMap((properties) => Object.keys(properties)))];
  const shared = names.filter((name) => all.every((properties) => name in properties));
  const isToldApart = shared.some((name) =>
    all.every(({ [name]: schema }) => schema !== undefined && "const" in schema),
  );
  if (schemas.length < 2 || isToldApart || shared.length * 2 < names.length) return schemas;
  if (schemas.some((schema) => !("properties" in schema) || "additionalProperties" in schema)) return schemas;
  const properties = names.map((name): [string, JsonSchema] => [
    name,
    anyOf(all.flatMap(({ [name]: schema }) => (schema === undefined ? [] : [schema]))),
  ]);
  const required = shared.filter((name) => schemas.every((schema) => (schema.required as string[]).includes(name)));
  return [{ type: "object", properties: Object.fromEntries(properties), required }];
}
