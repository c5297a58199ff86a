/** `nobody`, as every Linux has it. */
const NOBODY = 65_534;

/**
 * Whom untrusted code runs as: as root somebody else, since the kernel's limit on processes does not bind root,
 * not even root that has no rights left; otherwise null, whoever runs this program.
 */
export function sandboxUser(): { readonly uid: number; readonly gid: number } | null {
  return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : null;
}
