import { jsonFields } from '../../shared/base/fields.ts';
import { counted } from '../../shared/base/text.ts';
import { decodeMessage } from '../../shared/flow/message.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { countDropped, type DeadLetter, fieldOfLetter, lettersNamed } from '../../shared/state/lane/dead-letters.ts';
import { readNewestLetters } from '../../shared/state/lane/letter-list.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { filterOf } from './arguments.ts';
import {
  type Action,
  chatName,
  compact,
  type Fact,
  fact,
  listSection,
  messageName,
  type ReadReport,
  type ReportSource,
  type Section,
  shardsOf,
  type Text,
  UnknownName,
} from './report.ts';

const SHOWN_DEFAULT = 50;
const PUT_BACK =
  '“Replay failed” under an alert replays what failed; /retry in the chat itself replays its newest failed message.';

/** The report `dead list`: the newest dead letters that match the filter. */
export const showLetters: ReadReport = async (at, { options }) => {
  const nowMs = Date.now();
  const filter = filterOf(options, nowMs);
  const shards = shardsOf(at);
  const size = Number(options.limit ?? SHOWN_DEFAULT);
  const { letters, total } = await readNewestLetters(at.redis, shards, filter, size);
  const dropped = await countDropped(at.redis, shards);
  const rows = letters.map((letter): Text[] => [{ letter: letter.name }, ...factsOf(letter).map(({ value }) => value)]);
  const table = { columns: ['Letter', 'Message', 'Chat', 'Reason', 'Failed', 'Trace'], rows };
  const droppedInWords = `Removed because there were too many: ${counted(dropped, 'older one')}.`;
  const isUnfiltered = Object.keys(filter).length === 0;
  const actions = isUnfiltered ? await replayAction(at, { sinceMs: 0, labelOf: (count) => `Replay all ${count}` }) : [];
  return {
    report: {
      title: counted(total, 'dead letter'),
      nowMs,
      sections: compact<Section>(
        listSection('Kept', { table, more: { count: total - letters.length, noun: 'letter' } }),
        total > 0 && { intro: PUT_BACK },
        dropped > 0 && { intro: droppedInWords },
      ),
      actions,
    },
    json: { letters: letters.map(jsonOf), total, dropped },
  };
};

/** The report `dead show`: one dead letter, with the user's text only on request. */
export const showLetter: ReadReport = async (at, { words: [name = ''], content }) => {
  const [letter, ...others] = await lettersNamed(at.redis, shardsOf(at), name);
  if (letter === undefined)
    throw new UnknownName(`There is no dead letter ${name}: "npm run cli -- message ${name}" says what became of it.`);
  if (others.length > 0)
    throw new UnknownName(`Several shards have a dead letter ${name}: say which one, such as ${letter.name}.`);
  const text = await fieldOfLetter(at.redis, letter.keys, letter.id, 'message');
  // All of an unreadable message counts as content, because the user's text may be anywhere in the message.
  const { content: userContent, ...rest } = jsonFields(text) ?? { content: text };
  const message = content && userContent !== undefined ? { ...rest, content: userContent } : rest;
  const hiddenNotice = content === false ? 'Not shown: LOG_CONTENT is off.' : 'Not shown without --content.';
  return {
    report: {
      title: `Dead letter ${letter.name}`,
      nowMs: Date.now(),
      sections: [
        { title: 'About it', facts: factsOf(letter) },
        contentSection(content ? textOf(text) : { hiddenNotice }),
      ],
      actions: [
        { command: `dead replay ${letter.name}`, act: { verb: 'replay', target: letter.name, label: 'Put back' } },
        { command: `dead purge ${letter.name}`, act: { verb: 'purge', target: letter.name, label: 'Remove' } },
      ],
    },
    json: { ...jsonOf(letter), message },
  };
};

/** The user's text in a stored message; the whole stored text, if any, when the message is unreadable. Pure. */
export function textOf(stored: string | undefined): string | undefined {
  const decoded = decodeMessage(stored);
  return decoded.ok ? decoded.value.content.text : stored;
}

export function contentSection(text: string | { hiddenNotice: string } | undefined): Section {
  if (typeof text === 'string') return { title: 'Content', quote: text };
  return { title: 'Content', empty: text?.hiddenNotice ?? 'No longer stored.' };
}

function factsOf({ id, entry, record }: DeadLetter): Fact[] {
  const { chat, reason = 'no reason', traceId } = record;
  return [
    fact('Message', messageName(entry)),
    fact('Chat', chat === undefined ? 'none' : chatName(chat)),
    fact('Reason', reason),
    fact('Failed', { atMs: msOf(id) }),
    fact('Trace', traceId || 'none'),
  ];
}

/** The JSON form of a dead letter. The age is at least 0, because the ids come from Redis' clock, which may be ahead. */
function jsonOf({ name, id, record: about }: DeadLetter) {
  const ageSeconds = Math.max(0, Math.round((Date.now() - msOf(id)) / 1000));
  return { ...about, id: name, at: new Date(msOf(id)).toISOString(), ageSeconds };
}

/** The action that replays the dead letters of a time span, by default until now; empty if there are no such letters. */
export async function replayAction(
  at: ReportSource,
  { sinceMs, untilMs, labelOf }: { sinceMs: number; untilMs?: number | undefined; labelOf: (count: number) => string },
): Promise<Action[]> {
  const endMs = untilMs ?? (await serverTimeMs(at.redis)) + 1;
  const filter = { sinceMs, untilMs: endMs, withoutDesk: true } as const;
  const { total } = await readNewestLetters(at.redis, shardsOf(at), filter, 1);
  if (total === 0) return [];
  const since = sinceMs === 0 ? '' : ` --since ${new Date(sinceMs).toISOString()}`;
  const act = { verb: 'replay', target: `${sinceMs}..${endMs}`, label: labelOf(total) } as const;
  return [{ command: `dead replay --all${since}`, act }];
}
