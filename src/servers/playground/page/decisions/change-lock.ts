/** The form whose keys and buttons make the changes. */
interface BusyForm {
  setBusy(isBusy: boolean): void;
  say(message: string, isError?: boolean): void;
}

/**
 * Makes one change at a time: a key that is pressed meanwhile would decide about something that nobody has seen. What a
 * change throws is said, after `refused`.
 */
export function changeLock(
  form: BusyForm,
  refused: () => Promise<void> = async () => undefined,
): (make: () => Promise<void> | void) => Promise<void> {
  let isBusy = false;
  return async (make) => {
    if (isBusy) return;
    isBusy = true;
    form.setBusy(true);
    try {
      await make();
    } catch (error) {
      await refused();
      form.say((error as Error).message, true);
    }
    isBusy = false;
    form.setBusy(false);
  };
}
