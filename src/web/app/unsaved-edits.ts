/** Marks forms with unsaved edits. Leaving the section or the page needs a confirmation while there are some. */

const UNSAVED = "data-unsaved";

interface EditedForm {
  /** The current values are saved. */
  setSaved(): void;
}

export function trackEdits(
  form: HTMLElement,
  fields: readonly (HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement)[],
): EditedForm {
  const values = () => JSON.stringify(fields.map(({ value }) => value));
  let saved = values();
  const mark = () => form.toggleAttribute(UNSAVED, values() !== saved);
  form.addEventListener("input", mark);
  return {
    setSaved() {
      saved = values();
      mark();
    },
  };
}

/** Returns whether the user wants to leave. Discards the unsaved edits in this case. */
export function confirmLeaving(): boolean {
  if (!hasUnsavedEdits()) return true;
  const isSure = confirm("Leave without saving? Your changes on this page will be lost.");
  if (isSure) discardEdits();
  return isSure;
}

export function discardEdits(): void {
  for (const form of document.querySelectorAll(`[${UNSAVED}]`)) form.removeAttribute(UNSAVED);
}

function hasUnsavedEdits(): boolean {
  return document.querySelector(`[${UNSAVED}]`) !== null;
}

addEventListener("beforeunload", (event) => {
  if (hasUnsavedEdits()) event.preventDefault();
});
