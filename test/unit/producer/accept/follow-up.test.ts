import { expect, test } from '@jest/globals';
import { FollowUps } from '../../../../producer/accept/follow-up.ts';
import type { InboundMessage } from '../../../../shared/flow/message.ts';
import { inboundText } from '../../../fixture/inbound.ts';

const said = (over: Partial<InboundMessage>): InboundMessage => ({ ...inboundText(1), chatId: -1, ...over });
const text = (length: number) => ({ kind: 'text', text: 'x'.repeat(length) }) as const;

test('the pieces of an album belong to the one that was addressed', () => {
  const followUps = new FollowUps();
  followUps.note(said({ album: 'a', messageId: 5 }));
  expect(followUps.includes(said({ album: 'a', messageId: 6 }))).toBe(true);
  expect(followUps.includes(said({ album: 'b', messageId: 6 }))).toBe(false);
  expect(followUps.includes(said({ album: 'a', messageId: 6, chatId: -2 }))).toBe(false);
  expect(followUps.includes(said({ album: 'a', messageId: 6, from: { id: 9 } }))).toBe(false);
});

test('the message right after a text that an app cut belongs to it, and no other', () => {
  const followUps = new FollowUps();
  followUps.note(said({ messageId: 5, content: text(4_096) }));
  followUps.note(said({ messageId: 50, content: text(100) }));
  expect(followUps.includes(said({ messageId: 6 }))).toBe(true);
  for (const messageId of [5, 7, 51]) expect(followUps.includes(said({ messageId }))).toBe(false);
});

test('what is forwarded within two seconds of an addressed message belongs to it', () => {
  const followUps = new FollowUps();
  followUps.note(said({ sentAtMs: 10_000 }));
  const forward = (over: Partial<InboundMessage>) => followUps.includes(said({ forwardedFrom: 'Ann', ...over }));
  expect([10_000, 11_000, 12_000].every((sentAtMs) => forward({ sentAtMs }))).toBe(true);
  expect([9_000, 13_000].some((sentAtMs) => forward({ sentAtMs }))).toBe(false);
  expect([forward({ sentAtMs: 10_000, from: { id: 9 } }), followUps.includes(said({ sentAtMs: 10_000 }))]).toEqual([
    false,
    false,
  ]);
});

test('remembers the newest thousand', () => {
  const followUps = new FollowUps();
  for (let id = 0; id <= 1_000; id++) followUps.note(said({ album: `a${id}` }));
  expect([followUps.includes(said({ album: 'a0' })), followUps.includes(said({ album: 'a1000' }))]).toEqual([
    false,
    true,
  ]);
});
