import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, expect, it } from "vitest";
import { FORMATS } from "../../src/trace-formats/formats.js";
import { contextOf } from "./context.js";
import { BY_TOOL, CUT_OFF, TOOLS } from "./kinds-of-traces.js";

/** Lines of chats are what the openai package's own types say, by its compiler. */

// Inside the project, where the package is found.
const folder = mkdtempSync(join(import.meta.dirname, "chat-types-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const [line = "", cutOff = ""] = FORMATS.chat.lines([BY_TOOL, CUT_OFF], contextOf({ toolsOf: () => TOOLS }));

/** The weights are of fine-tuning alone, and not in the types. */
const literal = (json: string) =>
  JSON.stringify(JSON.parse(json, (key, value) => (key === "weight" ? undefined : value)));

const GOOD = literal(line);

const CASES: Readonly<Record<string, [line: string, isGood: boolean]>> = {
  by_tool: [GOOD, true],
  cut_off: [literal(cutOff), true],
  object_arguments: [GOOD.replace('"arguments":"{\\"query\\":\\"call\\"}"', '"arguments":{"query":"call"}'), false],
  unknown_role: [GOOD.replace('"role":"user"', '"role":"person"'), false],
  no_call_id: [GOOD.replace('"tool_call_id":"c1",', ""), false],
  extra_field: [GOOD.replace('"tool_call_id":"c1",', '"tool_call_id":"c1","scores":{},'), false],
  unnamed_tool: [GOOD.replace('"name":"email_get",', ""), false],
};

it("are what the types say, and what is broken is not", () => {
  const files = Object.entries(CASES).map(([name, [json]]) => {
    const file = join(folder, `${name}.ts`);
    writeFileSync(
      file,
      `import type { ChatCompletionCreateParamsNonStreaming as P } from "openai/resources/chat/completions";
       export const line: Pick<P, "messages" | "tools" | "parallel_tool_calls"> = ${json};`,
    );
    return file;
  });
  const program = ts.createProgram(files, {
    ...{ noEmit: true, strict: true, skipLibCheck: true, types: [] },
    ...{ module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022 },
  });
  const refused = files.map((file) => {
    const source = program.getSourceFile(file);
    return program.getSemanticDiagnostics(source).length > 0;
  });
  expect(refused).toEqual(Object.values(CASES).map(([, isGood]) => !isGood));
});
