import { expect, it } from "vitest";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";

const { artE, readJson } = workFolder({ mail: MAIL });

it("--unsafe-host-python is recorded with the run, and cannot be slipped into one that was begun without", async () => {
  const run = `run -a baseline --dataset ${QUESTIONS} -l 1 --quiet`;
  expect(await artE(`${run} --unsafe-host-python -o unsafe.json`)).toMatchObject({ code: 0 });
  expect(readJson("unsafe.json").settings.unsafeHostPython).toBe(true);
  expect(await artE(`${run} -o safe.json`)).toMatchObject({ code: 0 });
  expect(readJson("safe.json").settings).not.toHaveProperty("unsafeHostPython");
  const { code, stderr } = await artE("run --resume latest --unsafe-host-python");
  expect(code).toBe(2);
  expect(stderr).toContain("unsafeHostPython was undefined and would be true");
});
