import { thousands } from '../base/text.ts';

/** The texts with which the bot asks people for permission or for a decision, in English. */
export const ASKING_EN = {
  approval: {
    title: (count: number) => (count === 1 ? 'May I do this?' : `May I do these ${count} things?`),
    /** Follows the beginning of a long value. */
    inFile: (chars: number) => `(${thousands(chars)} characters; the full text is in the file above)`,
    moreInFile: (count: number) => `… and ${count} more ${count === 1 ? 'detail' : 'details'}, in the file above`,
    file: 'Everything I want to do. My question is below.',
    once: 'Allow once',
    always: 'Always here',
    alwaysTool: (tool: string) => `Always here: ${tool}`,
    decline: 'Decline',
    skip: 'Skip',
    /** The decision by a press of a button. `by` is the name of the person who decided, and may be empty. */
    decided: (how: string, by: string, choice: string) => {
      const who = by === '' ? '' : ` by ${by}`;
      if (how === 'chosen') return `Answered${who}: ${choice}`;
      return how === 'once' ? `Allowed once${who}.` : `Declined${who}.`;
    },
    granted: (by: string, tool: string, until: string) =>
      `“${tool}” is now allowed here until ${until}${by === '' ? '' : ` (by ${by})`}. This ends earlier if the tool changes. Use /tools to undo this.`,
    stillOpen: 'I still need an answer to the rest of the question above.',
    /** For a user whose message waits behind a question to another person. `name` is that person's name, or empty. */
    behind: (name: string) =>
      `I'm still waiting for an answer to my question above. ${name === '' ? 'Anybody here who may use my tools' : `${name}, or anybody else here who may use my tools,`} can answer it. Then I'll get to your message.`,
    over: "This question is closed: somebody has already answered it, or I'm no longer waiting for an answer.",
  },
  tools: {
    granted: (lines: readonly string[]) =>
      lines.length === 0 ? '' : `I may use these here without asking:\n${lines.join('\n')}`,
    grant: (tool: string, by: string, until: string) => `${tool} (allowed by ${by} until ${until})`,
    asking: (names: readonly string[]) => (names.length === 0 ? '' : `I ask before I use these:\n${names.join('\n')}`),
    none: 'None of my tools here need your permission.',
    askButton: (name: string) => `Ask before using ${name}`,
  },
};
