export const RUN = {
  type: "string",
  describe: "The run's id, the beginning of it, its name, or latest",
} as const;
