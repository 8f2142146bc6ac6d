import { expect, test } from '@jest/globals';
import { visible, visibleInLine } from '../../../../shared/base/visible.ts';

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
