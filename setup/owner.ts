import { listen } from './listen.ts';
import type { RunStep } from './step.ts';
import { faultOf, firstPerson, withId } from './value.ts';

const ALLOWED = 'TELEGRAM_ALLOWED_IDS';

/** Finds out who may use the bot. */
export const askOwner: RunStep = async (ports, { settings, bot }) => {
  const { terminal } = ports;
  const given = settings[ALLOWED] || undefined;
  const choice = given === undefined ? 'replace' : await chooseWhatHappens(given);
  if (choice === 'keep') return { answers: { [ALLOWED]: given }, ownerId: firstPerson(given) };
  const learnt = await listen(ports, ports.connect(settings), 'private', bot?.username ?? '');
  if (learnt !== undefined) terminal.good(`Your id is ${learnt}. The bot will answer you, and ignore everybody else.`);
  const ownerId = learnt ?? (await typeId());
  return { answers: { [ALLOWED]: withId(choice === 'add' ? given : undefined, ownerId) }, ownerId };

  function chooseWhatHappens(ids: string): Promise<'keep' | 'add' | 'replace'> {
    return terminal.choose(`${ALLOWED} is set: ${ids}`, [
      { value: 'keep', label: 'Keep it' },
      { value: 'add', label: 'Add somebody' },
      { value: 'replace', label: 'Replace it' },
    ]);
  }

  async function typeId(): Promise<number> {
    const id = await terminal.ask({
      message: 'Your numeric Telegram id',
      faultOf: (value) => (/^[1-9]\d{0,15}$/.test(value) ? faultOf(ALLOWED, value) : 'expected the number of a person'),
    });
    return Number(id);
  }
};
