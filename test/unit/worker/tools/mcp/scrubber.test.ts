import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { scrubberOf } from '../../../../../worker/features/mcp/config.ts';
import { UNASKED } from '../../../../fixture/mcp-toolbox.ts';
import { rawTexts, SEEDED } from '../../../../fixture/texts.ts';

test('scrubberOf replaces the secrets of a server in a text, in every encoding that they may have', () => {
  const key = '-----BEGIN X-----\nline-one-of-key\nline-two-of-key\n-----END X-----';
  const child = scrubberOf({
    kind: 'stdio',
    name: 'a',
    command: 'x',
    args: [],
    ...UNASKED,
    env: { K: 'pa"ss word!', P: key, N: '1' },
  });
  for (const leak of [
    'pa"ss word!',
    'pa\\"ss word!',
    'pa%22ss%20word!',
    'line-two-of-key',
    key,
    key.replaceAll('\n', '\\n'),
  ])
    expect(child(`before ${leak} after 1`)).toMatch(/^before .*\[secret\].* after 1$/s);
  expect(child('line-two-of-key')).not.toContain('line-two');
  const nested = scrubberOf({
    kind: 'stdio',
    name: 'a',
    command: 'x',
    args: [],
    ...UNASKED,
    env: { A: 'one-part', B: 'one-part-of-it' },
  });
  expect(nested('one-part-of-it and one-part')).toBe('[secret] and [secret]');
  const web = scrubberOf({
    kind: 'http',
    name: 'a',
    ...UNASKED,
    url: 'https://example.org/s/0123456789abcdef0/mcp?key=tooshorthere',
    headers: { Authorization: 'Bearer abc.def-ghi', 'X-Key': 'my-own-secret' },
  });
  for (const leak of ['Bearer abc.def-ghi', 'abc.def-ghi', 'my-own-secret', '0123456789abcdef0', 'key=tooshorthere'])
    expect(web(`before ${leak} after`)).toMatch(/^before .*\[secret\] after$/);
  expect(web('see https://example.org for help')).toBe('see https://example.org for help');
  expect(web('and sk-ant-abcdefghijkl too')).toBe('and [secret] too');
});

test('a scrubber never throws, and removes any secret of 8 or more characters', () => {
  fc.assert(
    fc.property(rawTexts(), rawTexts(), (secret, text) => {
      const scrub = scrubberOf({ kind: 'stdio', name: 'a', command: 'x', args: [], ...UNASKED, env: { KEY: secret } });
      const shown = scrub(text + secret);
      if (secret.trim().length >= 8) expect(shown).not.toContain(secret.trim());
    }),
    SEEDED,
  );
});
