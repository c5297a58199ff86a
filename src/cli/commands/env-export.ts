// The command `env export`: questions as Harbor tasks, for other programs.
import { z } from "zod";
import { file, oneOf, shapeOf, text, wholeNumber } from "../../platform/flag-values.js";
import { QUESTION_FLAGS } from "../../runs/run-flags.js";
import { count, counted } from "../../text/format.js";
import { defineCommand } from "../flags/define-command.js";

const FORMATS = ["harbor"] as const;

const NAME = /^(?!.*\.\.)[A-Za-z0-9_-][\w.-]*$/;
const IMAGE = /^[a-z0-9][\w./:@-]*\{task\}[\w./:@-]*$/;

export const exportEnvironmentCommand = defineCommand(
  z.object({
    ...shapeOf(QUESTION_FLAGS),
    format: oneOf(FORMATS).default("harbor").meta({ description: "harbor: folders of Harbor tasks" }),
    output: file.meta({ placeholder: "FOLDER", description: "New output folder (must not exist)", alias: "o" }),
    limit: wholeNumber(0).default(10).meta({ description: "Maximum number of tasks (0 = all)", alias: "l" }),
    org: text
      .regex(NAME, "expected letters, digits, -, _ and .")
      .default("art-e")
      .meta({ placeholder: "NAME", description: "Organization in the task names" }),
    dockerImage: text
      .regex(IMAGE, "expected an image name that contains {task}, such as me/art-e:{task}")
      .optional()
      .meta({
        placeholder: "IMAGE",
        description: "Image of each task, for readers that build none ({task} is replaced)",
      }),
  }),
  async ({ format: _, output, ...flags }, context) => {
    const { refuseContradictions } = await import("../../questions/dataset.js");
    refuseContradictions(flags);
    const { exportHarbor } = await import("../../suites/export-harbor.js");
    const exported = await exportHarbor("--output", output, flags, context);
    const { withoutGoldMail } = exported;
    if (withoutGoldMail.length > 0) {
      const some = withoutGoldMail.slice(0, 5).join(", ") + (withoutGoldMail.length > 5 ? ", ..." : "");
      context.note(
        `Tasks without gold emails in the mailbox on their date: ${count(withoutGoldMail.length)} (${some}).`,
      );
    }
    context.out.result(exported, () =>
      [
        `${counted(exported.tasks, "task")} with ${counted(exported.mails, "email")} in ${output}`,
        `Check them: harbor run -p ${output} -a oracle`,
      ].join("\n"),
    );
  },
);
