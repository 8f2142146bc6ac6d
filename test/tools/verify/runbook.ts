/** What an operator is told to do about an alert. */
export interface Advice {
  /** The heading that the alert leads to. */
  heading: string;
  text: string;
  /** The command lines that it names and that change nothing, as the command line takes them, with `<id>` and `<chat>`. */
  commands: readonly string[];
}

const COMMAND = /`npm run cli -- ([^`]+)`/g;
/** What only looks. */
const LOOKS = /^(?:status|incidents|message|chat|dead list|audit|actions|check|session show)\b/;
/** A screen that goes on for ever, and the wait of a person. */
const NOT_NOW = / --watch/;

/** The section of the runbook that an address ends in. Rejects where there is none. Pure. */
export function adviceAt(runbook: string, anchor: string): Advice {
  const sections = runbook.split(/^(?=###? )/m);
  const text = sections.find((section) => anchorOf(section.split('\n')[0] ?? '') === anchor);
  if (text === undefined) throw new Error(`the runbook has no section ${anchor}`);
  return { heading: (text.split('\n')[0] ?? '').replace(/^#+ /, ''), text, commands: commandsIn(text) };
}

/** What the first lines of the runbook tell everybody to do. Pure. */
export function triageOf(runbook: string): Advice {
  return adviceAt(runbook, 'triage');
}

function commandsIn(text: string): string[] {
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
