const COMMAND = /`npm run cli -- ([^`]+)`/g;
/** What only looks. */
const LOOKS = /^(?:status|incidents|message|chat|dead list|audit|actions|check|session show)\b/;
/** A screen that goes on for ever, and the wait of a person. */
const NOT_NOW = / --watch/;

/**
 * The command lines that a section of the runbook names and that change nothing, with `<id>` and `<chat>`. `anchor` ends the
 * section's address. Throws where there is none. Pure.
 */
export function commandsAt(runbook: string, anchor: string): string[] {
  const sections = runbook.split(/^(?=###? )/m);
  const text = sections.find((section) => anchorOf(section.split('\n')[0] ?? '') === anchor);
  if (text === undefined) throw new Error(`the runbook has no section ${anchor}`);
  const all = [...text.replaceAll(/\s*\n\s*/g, ' ').matchAll(COMMAND)].map(([, command = '']) => command);
  return [...new Set(all)].filter((command) => LOOKS.test(command) && !NOT_NOW.test(command));
}

function anchorOf(heading: string): string {
  return heading
    .replace(/^#+ /, '')
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s+/g, '-');
}
