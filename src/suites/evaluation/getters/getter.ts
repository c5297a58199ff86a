import type { JsonObject } from "../../../domain/json.js";
import type { Collected } from "../../spider2v/metric-function.js";
import type { EvaluationContext } from "../evaluation-context.js";

/** Gets what a comparison looks at; null where it is not there. */
export type Getter = (args: JsonObject, context: EvaluationContext) => Promise<Collected>;
