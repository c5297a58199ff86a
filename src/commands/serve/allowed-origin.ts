import { UserError } from "../../domain/errors.js";

/** The origin whose pages may call the API. */
export function originOf(cors: string): string {
  if (URL.canParse(cors) && new URL(cors).origin === cors) return cors;
  throw new UserError(
    "flag_invalid",
    "--cors: expected one origin, such as http://localhost:3000.",
    "See art-e serve --help.",
  );
}
