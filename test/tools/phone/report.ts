import type { Played } from './incidents.ts';

/** What an operator wants to need at most. */
const PRESSES_MAX = 2;
const SECONDS_MAX = 30;

/** The result as two tables of Markdown. Pure. */
export function phoneReport(played: readonly Played[]): string {
  const rows = played.map(({ name, outside, presses, seconds }) => {
    const steps = presses.length === 0 ? 'none' : presses.map((label) => `“${label}”`).join(', then ');
    const isWithin = presses.length <= PRESSES_MAX && seconds.held <= SECONDS_MAX;
    const [held, toEnd] = [seconds.held, seconds.toEnd].map((each) =>
      presses.length === 0 ? '' : `${each.toFixed(1)} s`,
    );
    return `| ${name} | ${steps} | ${held} | ${toEnd} | ${outside} | ${isWithin ? 'yes' : 'no'} |`;
  });
  return `Times run from the first press: until what was pressed is seen to have worked, and until the incident is over.

| incident | pressed | it works | it is over | outside of the chat | at most ${PRESSES_MAX} presses, ${SECONDS_MAX} s until it works |
|---|---|---|---|---|---|
${rows.join('\n')}

What rang in the chat, and how the lamp (\`/readyz\`, part \`installation\`) turned after the fault:

| incident | rings | the lamp |
|---|---|---|
${played.map(shownIn).join('\n')}
`;
}

/** What an operator hears and sees of an incident, as a row. */
function shownIn({ name, rings, lamp }: Played): string {
  const heard = rings.map((line) => clean(line));
  const turns = lamp.map(
    ({ colour, line, atS }) => `${atS.toFixed(1)} s ${colour}${line === '' ? '' : `: ${clean(line)}`}`,
  );
  return `| ${name} | ${rings.length}: ${heard.join('<br>')} | ${turns.join('<br>')} |`;
}

function clean(line: string): string {
  return line.replaceAll('|', '\\|').slice(0, 160);
}
