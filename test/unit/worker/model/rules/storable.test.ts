import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Block } from '../../../../../worker/model/block.ts';
import { ownId, storable, storableBlocks } from '../../../../../worker/model/rules/blocks.ts';
import { findViolation } from '../../../../../worker/model/rules/validate.ts';
import { SEALED } from '../../../../fixture/requests.ts';
import { rawTexts, SEEDED } from '../../../../fixture/texts.ts';
import { call, result, text, thinking } from '../../../../stand-in/claude/specimens.ts';

const sealed = (words = 'hm') => thinking(words, SEALED);
const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } };
const found = { type: 'web_search_tool_result', tool_use_id: 's1', content: [] };
const cited = { type: 'char_location', cited_text: 'c', document_index: 0, document_title: null };
const place = { ...cited, start_char_index: 0, end_char_index: 1 };

test('a valid answer is stored as it came, the same blocks', () => {
  const answer = [
    sealed(),
    search,
    found,
    text('a', { citations: [place] }),
    sealed(),
    call('t1'),
    { type: 'hologram' },
  ];
  const stored = storable(answer);
  expect(stored).toHaveLength(answer.length);
  for (const [at, block] of answer.entries()) expect(stored[at]).toBe(block);
});

test.each<[string, Block[], Block[]]>([
  ['a blank text is left out', [text(' \n'), text('a')], [text('a')]],
  [
    'half a pair is replaced, in keys too',
    [text('a\ud83d'), call('t', { input: { '\udc00': 'b' } })],
    [text('a\ufffd'), call('t', { input: { '\ufffd': 'b' } })],
  ],
  [
    'thinking without a seal is left out',
    [thinking('hm'), thinking('hm', { signature: 'cut' }), text('a')],
    [text('a')],
  ],
  ['thinking with half a pair is left out', [sealed('\ud83d'), text('a')], [text('a')]],
  [
    'thinking that nothing follows is left out',
    [sealed('a'), text('b'), sealed('c'), text('')],
    [sealed('a'), text('b')],
  ],
  [
    'thinking behind a block that is left out goes with all thinking',
    [sealed('a'), text(''), sealed('b'), text('c')],
    [text('c')],
  ],
  [
    'a second call of one id is left out',
    [call('t1'), call('t1', { name: 'other' }), text('a')],
    [call('t1'), text('a')],
  ],
  ['a name becomes legal', [call('t1', { name: 'files.look' })], [call('t1', { name: 'files_look' })]],
  [
    'an input becomes an object',
    [call('t1', { input: [1] }), call('t2', { input: null })],
    [call('t1', { input: { value: [1] } }), call('t2', { input: { value: null } })],
  ],
  ['unknown keys go', [text('a', { origin: 'x', citations: null })], [text('a', { citations: null })]],
  [
    'a citation loses the keys that the API does not take back',
    [text('a', { citations: [{ ...place, file_id: null }] })],
    [text('a', { citations: [place] })],
  ],
  ['a citation without a place goes', [text('a', { citations: [cited, place] })], [text('a', { citations: [place] })]],
])('%s', (_, answer, stored) => {
  expect(storable(answer)).toEqual(stored);
  expect(storable(stored)).toEqual(stored);
});

test('each block keeps its place', () => {
  expect(storableBlocks([text(''), text('a'), thinking('hm')])).toEqual([undefined, text('a'), undefined]);
});

test('a call keeps its id where the API takes it and no earlier call has it', () => {
  const used = new Set(['call_0', 'call_0_2']);
  expect(ownId('toolu_1', used)).toBe('toolu_1');
  expect(ownId('call_0', used)).toBe('call_0_3');
  expect(ownId('functions.look:0', used)).toBe('functions_look_0');
  expect(ownId('x'.repeat(80), used)).toBe('x'.repeat(56));
  expect(ownId(undefined, used)).toBe('unnamed');
});

const words = fc.oneof(rawTexts(6), fc.constantFrom('', ' ', 'half \ud83d', '\u0085'));
const blocks = fc.oneof(
  words.map((each) => text(each)),
  fc.tuple(words, fc.constantFrom({}, SEALED)).map(([each, seal]) => thinking(each, seal)),
  fc.tuple(fc.constantFrom('t1', 't2'), words, fc.jsonValue()).map(([id, name, input]) => call(id, { name, input })),
  fc.dictionary(words, words, { maxKeys: 2 }).map((more) => text('a', more)),
  fc.constant({ type: 'redacted_thinking', data: '' }),
);

test('for any blocks, what is stored makes a valid request, and a second time changes nothing', () => {
  fc.assert(
    fc.property(fc.array(blocks, { maxLength: 6 }), (answer) => {
      const stored = [...storable(answer)];
      expect(storable(stored)).toEqual(stored);
      const results = stored.flatMap(({ id, type }) => (type === 'tool_use' ? [result(String(id))] : []));
      const messages = [
        { role: 'user', content: 'a' },
        ...(stored.length > 0 ? [{ role: 'assistant', content: stored }] : []),
        ...(stored.length > 0 ? [{ role: 'user', content: [...results, text('b')] }] : []),
      ];
      expect(findViolation({ model: 'm', max_tokens: 1, messages }, {})).toBeUndefined();
    }),
    { ...SEEDED, numRuns: 500 },
  );
});
