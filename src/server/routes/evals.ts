// Routes for evals: their versions with the newest test, and activating a version.
import { z } from "zod";
import { validationOf } from "../../evals/definition.js";
import { activateEvals, type DescribedEval, listDescribedEvals } from "../../evals/use-evals.js";
import { defineRoute, type Route, type Services } from "../app/route.js";
import { activatedEvalShape, type EvalLineJson, evalListShape } from "../response-shapes.js";

export function evalRoutes({ db }: Pick<Services, "db">): Route[] {
  const tag = "evals";
  return [
    defineRoute({
      method: "get",
      path: "/api/evals",
      tag,
      summary: "List all versions of all evals with their newest test on held-out labels",
      status: 200,
      response: evalListShape,
      handle: () => ({ evals: listDescribedEvals(db, true).map(evalLine) }),
    }),
    defineRoute({
      method: "post",
      path: "/api/evals/use",
      tag,
      summary: "Activate a version of an eval that passed its test, and retire the former one",
      body: z.strictObject({ name: z.string().min(1).max(300).meta({ description: "NAME@VERSION" }) }),
      status: 200,
      response: activatedEvalShape,
      handle({ body }) {
        const [activated] = activateEvals(db, [body.name], { anyway: false });
        return { retired_version: activated?.former?.definition.version ?? null };
      },
    }),
  ];
}

function evalLine({ stored: { definition, status, createdAt }, test }: DescribedEval): EvalLineJson {
  const { name, version, kind, reference, criterion } = definition;
  return {
    id: `${name}@${version}`,
    name,
    version,
    kind,
    reference,
    criterion,
    status,
    validation: validationOf(test),
    created_at: createdAt,
    test: test && {
      mode: test.report.criterion,
      thresholds: test.report.thresholds,
      true_positive_rate: test.report.agreement.truePositiveRate,
      true_negative_rate: test.report.agreement.trueNegativeRate,
      false_failures: test.report.agreement.confusion.goodFailed,
      missed_failures: test.report.agreement.confusion.badPassed,
      labels: test.report.agreement.sources,
      rejections: [...test.report.rejections],
      tested_at: test.createdAt,
    },
  };
}
