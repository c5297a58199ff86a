// Routes for evals: their versions with tests and history, jobs that suggest and test them, and activating a version.
import { z } from "zod";
import { allModes } from "../../error-analysis/advise-modes.js";
import { readableFunction } from "../../evals/as-python.js";
import { validationOf } from "../../evals/definition.js";
import { modesOfEval } from "../../evals/store.js";
import { activateEvals, type DescribedEval, evalWithHistory, listDescribedEvals } from "../../evals/use-evals.js";
import { evalHistory } from "../../reports/eval-text.js";
import { defineRoute, type Route, type Services } from "../app/route.js";
import { streamEvalJob } from "../eval-jobs/stream-eval-job.js";
import {
  activatedEvalShape,
  type EvalLineJson,
  evalJobEventShape,
  evalJobRequestSchema,
  evalListShape,
  evalVersionShape,
} from "../response-shapes.js";

export function evalRoutes({ db, cacheDir, stream, report }: Services): Route[] {
  const tag = "evals";
  return [
    defineRoute({
      method: "get",
      path: "/api/evals",
      tag,
      summary: "List all versions of all evals with their newest test on held-out labels",
      status: 200,
      response: evalListShape,
      handle: () => ({
        evals: listDescribedEvals(db, true).map(evalLine),
        modes: allModes(db).map(({ name }) => name),
      }),
    }),
    defineRoute({
      method: "get",
      path: "/api/evals/versions/:name",
      tag,
      summary: "Get a version of an eval, with the history of all its versions",
      status: 200,
      response: evalVersionShape,
      handle({ params }) {
        const { history, ...described } = evalWithHistory(db, params.name);
        return {
          eval: evalLine(described),
          code: readableFunction(described.stored.definition),
          modes: modesOfEval(db, described.stored),
          history: evalHistory(history, readableFunction),
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/evals/jobs",
      tag,
      summary:
        "Suggest evals for a failure mode, test an eval, or list its disagreements, and stream progress and result",
      body: evalJobRequestSchema,
      status: 200,
      response: null,
      events: evalJobEventShape,
      handle: ({ body, requestId, destroyConnection }) =>
        streamEvalJob(body, {
          path: db.name,
          cacheDir,
          stream,
          destroyConnection,
          report: (fault) => report(fault, requestId),
        }),
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
      good_failed: test.report.agreement.confusion.goodFailed,
      bad_passed: test.report.agreement.confusion.badPassed,
      labels: test.report.agreement.sources,
      rejections: [...test.report.rejections],
      warnings: [...test.report.warnings],
      tested_at: test.createdAt,
    },
  };
}
