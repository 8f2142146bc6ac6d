import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Repair, repairRequest, type WireRequest } from '../../../../../worker/model/rules/repair.ts';
import { injured, oddRequests, visiblyInjured } from '../../../../fixture/injuries.ts';
import { type Conversation, clone, conversations, FACTS } from '../../../../fixture/requests.ts';
import { SEEDED } from '../../../../fixture/texts.ts';
import { type MessagesRequest, pendingText } from '../../../../stand-in/claude/request.ts';
import { firstViolation } from '../../../../stand-in/claude/rules.ts';

const bound = { ...FACTS, bindsThinking: true };

/** Where the words that wait stand in a request that ends with them. */
function pendingPath({ messages }: WireRequest): string | undefined {
  const last = messages.at(-1);
  if (last?.role !== 'user') return undefined;
  const path = `messages.${messages.length - 1}.content`;
  if (typeof last.content === 'string') return last.content.trim() === '' ? undefined : path;
  const at = last.content.findLastIndex((block) => block?.type === 'text' && String(block.text).trim() !== '');
  return at < 0 ? undefined : `${path}.${at}`;
}

function textAt({ messages }: WireRequest, path: string): string {
  const [, message, , block] = path.split('.');
  const content = messages[Number(message)]?.content ?? '';
  return typeof content === 'string' ? content : String(content[Number(block)]?.text);
}

/** Rules of which the repair takes a key from a block, and leaves its text. */
const BESIDES_THE_WORDS = new Set<Repair['rule']>(['breakpoints-few', 'known-shape']);

/** What holds for every repair, whatever was wrong. */
function expectMended({ request, grounds }: Conversation, bindThinking: boolean): Repair[] {
  const facts = { ...FACTS, bindsThinking: bindThinking };
  const before = JSON.stringify(request);
  const { request: fixed, repairs } = repairRequest(request, facts);
  expect(JSON.stringify(request)).toBe(before);
  expect(fixed === request).toBe(repairs.length === 0);
  expect(firstViolation(clone(fixed), { ...grounds, bindThinking })).toBeUndefined();
  expect(repairRequest(fixed, facts)).toEqual({ request: fixed, repairs: [] });
  expect(repairRequest(clone(request), facts)).toEqual({ request: fixed, repairs });
  const path = pendingPath(request);
  if (path === undefined || repairs.some((repair) => repair.path === path && !BESIDES_THE_WORDS.has(repair.rule)))
    return repairs;
  const pending = textAt(request, path);
  expect(pendingText(clone(fixed) as MessagesRequest)).toBe(pending);
  const times = (text: string): number => text.split(JSON.stringify(pending)).length;
  if (pending === 'PENDING') expect(times(JSON.stringify(fixed))).toBe(times(before));
  return repairs;
}

test('after any repair the stand-in accepts the request; the pending text is last, unchanged and not repeated', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(injured(3), (conversation) => {
      for (const { what } of expectMended(conversation, false)) seen.add(what);
    }),
    { ...SEEDED, numRuns: 150 },
  );
  const kinds =
    'closed_pair dropped_block dropped_breakpoint dropped_call dropped_result dropped_thinking lowered_output';
  expect([...seen]).toEqual(
    expect.arrayContaining([...kinds.split(' '), 'merged_roles', 'placeholder', 'well_formed']),
  );
});

test('with bound thinking, the thinking that a repair keeps is still valid for the stand-in', () => {
  let kept = 0;
  let dropped = 0;
  fc.assert(
    fc.property(visiblyInjured(), (conversation) => {
      const repairs = expectMended(conversation, true);
      const gone = repairs.filter(({ what }) => what === 'dropped_thinking').length;
      if (gone > 0) dropped += 1;
      else if (repairs.length > 0 && JSON.stringify(conversation.request).includes('"thinking"')) kept += 1;
      expectMended(conversation, false);
    }),
    { ...SEEDED, numRuns: 80 },
  );
  expect(Math.min(kept, dropped)).toBeGreaterThan(8);
});

test('returns a sound request as the same object', () => {
  fc.assert(
    fc.property(conversations(true), ({ request }) => {
      expect(repairRequest(request, bound).request).toBe(request);
    }),
    { ...SEEDED, numRuns: 60 },
  );
});

test('the repair never throws, and is idempotent', () => {
  fc.assert(
    fc.property(oddRequests(), fc.boolean(), (odd, bindsThinking) => {
      const { request } = repairRequest(odd, { ...FACTS, bindsThinking });
      expect(repairRequest(request, { ...FACTS, bindsThinking })).toMatchObject({ repairs: [] });
    }),
    { ...SEEDED, numRuns: 250 },
  );
});
