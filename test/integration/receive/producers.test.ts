import { beforeEach, expect, test } from '@jest/globals';
import { type AcceptUpdate, createAccept } from '../../../producer/accept/accept.ts';
import { METRIC, traceIdsOnly } from '../../../shared/base/telemetry.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { CHAT, eachInWorld, world } from '../../fixture/each-test.ts';
import { producerEnv } from '../../fixture/producer-env.ts';
import { instantTelegram } from '../../tools/bench/instant.ts';

const GROUP = -100_5;
const MOVED = -100_200_5;
const BOT = 7_000_001;
const SHARDS = 3;
let ignored: string[] = [];
let producers: AcceptUpdate[] = [];
let updateId = 0;
let looks = 0;

eachInWorld();

/** Producers that share nothing but Redis, as behind a balancer that takes them in turn. */
function between(answersAll = ''): AcceptUpdate[] {
  const telemetry = {
    ...traceIdsOnly(),
    count: (metric: string, { reason }: { reason?: string }) =>
      void (metric === METRIC.ignored && ignored.push(String(reason))),
  };
  return Array.from({ length: 2 }, () => {
    const inbox = createInbox(world.peek, SHARDS);
    const looked = <Args extends unknown[], T>(look: (...args: Args) => T) => {
      return (...args: Args): T => {
        looks += 1;
        return look(...args);
      };
    };
    const env = producerEnv(
      {
        telegram: { ...instantTelegram(), botId: BOT },
        inbox: { ...inbox, expected: looked(inbox.expected), movedFrom: looked(inbox.movedFrom) },
        allowed: async () => new Set([CHAT, GROUP, OTHER.chat.id]),
        botName: () => 'spillway_stand_in_bot',
        telemetry: telemetry as never,
      },
      { TELEGRAM_ANSWER_ALL_IDS: answersAll },
    );
    return createAccept(env);
  });
}

beforeEach(() => {
  [ignored, updateId, looks] = [[], 100, 0];
  producers = between();
});

const place = (id: number) => ({ id, type: id === CHAT ? 'private' : 'supergroup', title: 'Team' });

/** An update that the next producer gets. */
async function take(message: object, id = ++updateId): Promise<void> {
  const written = { message_id: id, date: 100, from: { id: CHAT, is_bot: false }, chat: place(GROUP), ...message };
  await producers[id % producers.length]?.({ update_id: id, message: written });
}

async function kept(): Promise<string[]> {
  const streams = await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) => world.peek.xrange(`{sw:${shard}}:inbound`, '-', '+')),
  );
  return streams.flat().map(([, fields]) => fields[fields.indexOf('message') + 1] ?? '');
}

/** A group that must be addressed. */
const OTHER = { chat: place(-100_6) };
const ADDRESSED = { text: '@spillway_stand_in_bot', entities: [{ type: 'mention', offset: 0, length: 22 }] };

test('each piece of an addressed text is accepted, whichever producer gets it; a piece delivered twice is one', async () => {
  const long = `${ADDRESSED.text} ${'x'.repeat(4_050)}`;
  await take({ ...OTHER, ...ADDRESSED, text: long });
  await take({ ...OTHER, text: 'y'.repeat(4_096) });
  await take({ ...OTHER, text: 'y'.repeat(4_096) }, updateId);
  await take({ ...OTHER, text: 'the end' });
  await take({ ...OTHER, text: 'and something else' });
  expect((await kept()).map((text) => JSON.parse(text).content.text.slice(-7))).toEqual([
    'xxxxxxx',
    'yyyyyyy',
    'the end',
  ]);
});

test('the pictures of an album and what is forwarded with a comment are accepted, of that sender alone', async () => {
  const photo = { photo: [{ file_id: 'f', file_size: 10, width: 9, height: 9 }], media_group_id: 'a' };
  const { text: caption, entities: caption_entities } = ADDRESSED;
  await take({ ...OTHER, ...photo, caption, caption_entities });
  await take({ ...OTHER, ...photo });
  await take({ ...OTHER, ...photo, from: { id: 77, is_bot: false } });
  await take({ ...OTHER, ...ADDRESSED, date: 200 });
  const forward_origin = { type: 'hidden_user', sender_user_name: 'Ann', date: 1 };
  await take({ ...OTHER, text: 'forwarded', forward_origin, date: 201 });
  await take({ ...OTHER, text: 'forwarded', forward_origin, date: 204 });
  expect(await kept()).toHaveLength(4);
});

test.each([{ migrate_to_chat_id: MOVED }, { chat: place(MOVED), migrate_from_chat_id: GROUP }])(
  'after the message %j each one under the new id of a group is accepted, whichever producer gets it',
  async (move) => {
    producers = between(String(GROUP));
    await take(move);
    for (let nth = 0; nth < 10; nth++) await take({ chat: place(MOVED), text: `after ${nth}` });
    expect(await kept()).toHaveLength(10);
    await take({ chat: place(-100_77), text: 'a stranger' });
    await take({ chat: place(-100_78), migrate_to_chat_id: -100_77 });
    await take({ chat: place(-100_77), migrate_from_chat_id: -100_78 });
    await take({ chat: place(-100_77), text: 'a stranger' });
    expect(await kept()).toHaveLength(10);
    expect(ignored.filter((reason) => reason === 'not_allowed').length).toBeGreaterThanOrEqual(3);
  },
);

test('a private chat, and a message that is addressed in a group, are looked up nowhere', async () => {
  await take({ chat: place(CHAT), text: 'hello' });
  await take({ ...OTHER, ...ADDRESSED });
  expect([looks, (await kept()).length]).toEqual([0, 2]);
  expect(await world.peek.keys('*:follows:*')).toEqual([expect.stringContaining(`:${OTHER.chat.id}:${CHAT}`)]);
});
