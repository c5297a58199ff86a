/** Where the agent of a run lives, if not in this program. Part of a run's settings: never a secret. */
export type Elsewhere =
  | {
      readonly kind: "api";
      readonly url: string;
      readonly workspace: string | null;
      /** Mailbox and day are put into the question too. */
      readonly tellTask: boolean;
    }
  | { readonly kind: "command"; readonly argv: readonly string[] }
  | { readonly kind: "endpoint"; readonly url: string };
