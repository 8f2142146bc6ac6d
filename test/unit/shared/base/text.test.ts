import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { redact } from '../../../../shared/base/redact.ts';
import { clip, clipMiddle, graphemePrefix, visible, visibleInLine } from '../../../../shared/base/text.ts';
import { cpuMs, forAll, GRAPHEMES, LINEAR_MS_MAX, prose, rawTexts } from '../../../fixture/texts.ts';

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Every place where a text may be cut, found by walking it from its start: slow, and surely right. */
function boundariesOf(text: string): Set<number> {
  return new Set([...segmenter.segment(text)].map(({ index }) => index).concat(text.length));
}

function expectWholeGraphemes(text: string, head: string, tail = ''): void {
  const boundaries = boundariesOf(text);
  expect(text.startsWith(head)).toBe(true);
  expect(text.endsWith(tail)).toBe(true);
  expect({ head, cut: boundaries.has(head.length) }).toEqual({ head, cut: true });
  expect({ tail, cut: boundaries.has(text.length - tail.length) }).toEqual({ tail, cut: true });
}

function everyOffset(text: string, check: (maxChars: number) => void): void {
  for (let maxChars = -1; maxChars <= text.length + 1; maxChars++) check(maxChars);
}

const MIXED = GRAPHEMES.join('') + GRAPHEMES.toReversed().join('');
const RUNS = ['🇩🇪🇫🇷', '👩‍👩‍👧‍👦', 'e\u0301\u0323', 'क्षि', '😀', '\r\n'].map((part) => part.repeat(30));

test.each([MIXED, ...RUNS])('graphemePrefix is the longest prefix of whole characters at every limit: %#', (text) => {
  const boundaries = boundariesOf(text);
  everyOffset(text, (maxChars) => {
    const prefix = graphemePrefix(text, maxChars);
    const longest = [...boundaries].filter((at) => at <= Math.max(0, maxChars)).reduce((a, b) => Math.max(a, b), 0);
    expect([maxChars, prefix]).toEqual([maxChars, text.slice(0, longest)]);
  });
});

test.each([MIXED, ...RUNS])('clip keeps whole characters, ends with an ellipsis and keeps the limit: %#', (text) => {
  everyOffset(text, (maxChars) => {
    const clipped = clip(text, maxChars);
    expect(clipped.length).toBeLessThanOrEqual(Math.max(0, maxChars));
    if (clipped === text || clipped === '') return;
    expect(clipped.endsWith('…')).toBe(true);
    expectWholeGraphemes(text, clipped.slice(0, -1));
  });
  expect(clip(text, text.length)).toBe(text);
});

test.each([MIXED, ...RUNS])('clipMiddle keeps whole characters at both ends and keeps the limit: %#', (text) => {
  const marker = `\n[… ${text.length} characters in all, the middle left out …]\n`;
  everyOffset(text, (maxChars) => {
    const clipped = clipMiddle(text, maxChars);
    expect(clipped.length).toBeLessThanOrEqual(Math.max(0, maxChars));
    if (clipped === text || !clipped.includes(marker)) return;
    const [head = '', tail = ''] = clipped.split(marker);
    expectWholeGraphemes(text, head, tail);
  });
});

test('clipMiddle keeps the beginning and the end of a long text and uses over 99 % of the limit', () => {
  const clipped = clipMiddle(`BEGIN${'x'.repeat(10_000)}END`, 1_000);
  expect(clipped).toMatch(/^BEGINx+\n\[… 10008 characters in all, the middle left out …\]\nx+END$/);
  expect(clipped.length).toBeGreaterThan(990);
});

test('no cut splits a surrogate pair, and a character longer than the limit is removed whole', () => {
  const zalgo = `x${'\u0301'.repeat(500)}`;
  expect(graphemePrefix(`ab${zalgo}`, 300)).toBe('ab');
  expect(clip(zalgo, 300)).toBe('…');
  forAll([rawTexts(80), fc.integer({ min: 0, max: 90 })], (raw, maxChars) => {
    const text = raw.toWellFormed();
    for (const cut of [graphemePrefix(text, maxChars), clip(text, maxChars), clipMiddle(text, maxChars)])
      expect(cut.isWellFormed()).toBe(true);
  });
});

const BODY = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC';
/** Each with the part that must be gone afterwards. */
const CREDENTIALS: readonly (readonly [kind: string, text: string, secret: string])[] = [
  ['an Anthropic key', 'use sk-ant-api03-Ab_Cd-1234567890 now', 'Ab_Cd-1234567890'],
  ['a Stripe key', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc', '4eC39HqLyjWDarjtT1zdp7dc'],
  ['a bot token', '123456789:AAEhBP0av28uHvsRQ5Y2xyz0123456789ab', 'AAEhBP0av28'],
  ['a Bot API URL', 'https://api.telegram.org/bot123456789:AAEhBP0/getMe', 'AAEhBP0'],
  ['an AWS key id', 'AKIAIOSFODNN7EXAMPLE', 'IOSFODNN7'],
  ['an AWS secret', 'AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfi', 'wJalrXUtnFEMI'],
  ['a GitHub token', 'ghp_16C7e42F292c6912E7710c838347Ae178B4a', '16C7e42F292c'],
  ['a fine-grained GitHub token', 'github_pat_11ABCDEFG0abcdefghijklmnop', '11ABCDEFG0'],
  ['a GitLab token', 'glpat-AbCdEfGhIjKlMnOpQrSt', 'AbCdEfGhIjKl'],
  ['an npm token', 'npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789', 'AbCdEfGhIjKl'],
  ['a Slack token', 'xoxb-123456789012-abcdefABCDEF', 'abcdefABCDEF'],
  ['a Google key', 'AIzaSyA1234567890abcdefghijklmnopqrstuv', 'SyA1234567890'],
  ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN', 'eyJzdWIiOiIx'],
  ['a private key', `-----BEGIN RSA PRIVATE KEY-----\n${BODY}\n-----END RSA PRIVATE KEY-----`, BODY],
  ['a key with headers', `-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-128-CBC\n\n${BODY}\n-----END`, BODY],
  ['a key that is cut off', `-----BEGIN PRIVATE KEY-----\n${BODY}`, BODY],
  ['a PGP key', `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${BODY}\n-----END PGP PRIVATE KEY BLOCK-----`, BODY],
  ['a database URL', 'postgres://app:hunter22@db.example.org/app', 'hunter22'],
  ['a Redis URL without a user', 'redis://:hunter22@cache:6379', 'hunter22'],
  ['an assignment', 'password=hunter22', 'hunter22'],
  ['a variable', 'export DB_PASSWORD="hunter22"', 'hunter22'],
  ['a Django setting', "SECRET_KEY = 'hunter22xyz'", 'hunter22'],
  ['camel case in JSON', '{"clientSecret": "hunter22", "a": 1}', 'hunter22'],
  ['JSON in a JSON string', String.raw`{\"accessToken\":\"hunter22\"}`, 'hunter22'],
  ['a hash rocket', "'password' => 'hunter22'", 'hunter22'],
  ['a query', 'https://example.org/?a=1&access_token=hunter22&b=2', 'hunter22'],
  ['a header', 'X-Api-Key: hunter22', 'hunter22'],
  ['a bearer header', 'Authorization: Bearer hunter22hunter22', 'hunter22'],
  ['a basic header', 'Authorization: Basic aHVudGVyMjI6aHVudGVy', 'aHVudGVyMjI6'],
  ['a bearer alone', 'curl -H "Bearer hunter22hunter22hunter22"', 'hunter22'],
];

test.each(CREDENTIALS)('redact replaces %s', (_, text, secret) => {
  const redacted = redact(`Before. ${text} After.`);
  expect(redacted).not.toContain(secret);
  expect(redacted).toMatch(/^Before\. .*\[secret\]/s);
  expect(redact(redacted)).toBe(redacted);
});

test.each([
  'prompt is too long: 213462 tokens > 200000 maximum',
  'max_tokens: 16000 > 8192, usage: {"input_tokens": 12345, "output_tokens": 678}',
  'The meeting is at 10:30, see https://example.org:8080/a:b/c@d?e=f and write to ann@example.org.',
  'Where do I reset my password? The secretary: Ann Smith. A token ring; passwords are hashed.',
  'src/tokenizer.ts:120 and git@github.com:org/repo.git at 41fe59e2b1c3d4e5f60718293a4b5c6d7e8f9012',
  'chat -1001234567890, update 123456789, s-5f0c3a52-1111-2222-3333-444455556666, 2026-11-22T10:00:00.000Z',
  'disk-management-systems are task-oriented; the ratio is 12345:67890.',
  '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
])('redact leaves text without credentials unchanged: %s', (text) => {
  expect(redact(text)).toBe(text);
});

test('redact keeps the text around a credential, so that a log line is still JSON', () => {
  const line = JSON.stringify({ msg: 'x', inner: JSON.stringify({ password: 'hunter22', next: 1 }), token: 'abcdef' });
  expect(JSON.parse(redact(line))).toEqual({ msg: 'x', inner: '{"password":"[secret]","next":1}', token: '[secret]' });
});

test('redact is idempotent and leaves prose unchanged', () => {
  forAll([rawTexts(80), prose(40)], (raw, words) => {
    expect(redact(redact(raw))).toBe(redact(raw));
    expect(redact(words)).toBe(words);
  });
});

const UNITS =
  'eyJaaaaaaaaaa-·eyJaaaaaaaaaa.·sk-·12345:·bot1·a://·a://b:·abc+def.·-----BEGIN ·-----BEGIN PRIVATE KEY-----·-----BEGIN PRIVATE KEY-----a-·token: bearer ·password·password="·authorization:\n ·xoxb-·AKIA·a· ';

test.each(
  [...UNITS.split('·'), `-----BEGIN PRIVATE KEY-----${'-a'.repeat(500_000)}`].map((part) => [part.slice(0, 30), part]),
)('redact takes linear time on a megabyte of %j', (_, part) => {
  const text = part.repeat(Math.ceil(1_000_000 / part.length));
  const start = cpuMs();
  redact(text);
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});

const BEGINNINGS = ['sk-', 'bearer ', 'eyJ', '12345', '-----BEGIN PRIVATE KEY-----'];

test.each(BEGINNINGS)('redact does not throw on %j with millions of characters after it', (start) => {
  expect(redact(`${start}${'1'.repeat(20_000_000)}`).length).toBeLessThan(21_000_000);
  expect(redact(`${start}${'-1'.repeat(10_000_000)}`).length).toBeLessThan(21_000_000);
});

test('clip and clipMiddle take linear time on a megabyte', () => {
  const text = '🇩🇪e\u0301 '.repeat(140_000);
  const start = cpuMs();
  for (let i = 0; i < 10; i++) clipMiddle(clip(text, 900_000 + i), 500_000 + i);
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});

test.each([
  ['a right-to-left override', 'a\u202eb', 'a⟨U+202E⟩b'],
  ['a run of zero-width spaces', `a${'\u200b'.repeat(30)}b`, 'a⟨U+200B ×30⟩b'],
  ['fillers, joiners and an empty Braille pattern', '\u3164\u2800\u034f\uffa0', '⟨U+3164⟩⟨U+2800⟩⟨U+034F⟩⟨U+FFA0⟩'],
  ['variation selectors without an emoji', 'a\ufe0f\u{e0100}', 'a⟨U+FE0F⟩⟨U+E0100⟩'],
  ['tag characters, controls, separators', '\u{e0041}\0\u2028\x85', '⟨U+E0041⟩⟨U+0000⟩⟨U+2028⟩⟨U+0085⟩'],
  ['half of a surrogate pair', 'a\ud800b', 'a⟨U+D800⟩b'],
  ['emoji, which need their joiners and selectors', '❤️ 👩‍👩‍👧 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿', '❤️ 👩‍👩‍👧 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿'],
  ['letters of any script', 'Größe 價錢 ราคา השלום naïve', 'Größe 價錢 ราคา השלום naïve'],
  ['line breaks and tabs, which stay', 'a\r\nb\n\tc', 'a\nb\n\tc'],
])('shows %s', (_, text, seen) => {
  expect(visible(text)).toBe(seen);
});

test('on one line, a line break and a tab are shown as signs', () => {
  expect(visibleInLine('a\r\nb\rc\n\td\u200b')).toBe('a⏎b⏎c⏎⇥d⟨U+200B⟩');
});
