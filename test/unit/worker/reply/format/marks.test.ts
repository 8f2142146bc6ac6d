import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { maskNonMarks } from '../../../../../worker/reply/format/marks.ts';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { shown } from '../../../../fixture/tagged.ts';
import { cpuMs, forAll } from '../../../../fixture/texts.ts';

test.each([
  ['**重點：**請先備份。', '<b>重點：</b>請先備份。'],
  ['***重點：***請', '<i><b>重點：</b></i>請'],
  ['~~刪除。~~請', '<s>刪除。</s>請'],
  ['是**"重要"**的', '是<b>"重要"</b>的'],
  ['**“重要”**的', '<b>“重要”</b>的'],
  ['**50%**的，**C++**是', '<b>50%</b>的，<b>C++</b>是'],
  ['**`code`**是', '<b><c>code</c></b>是'],
  ['**[書](https://x.org)**的', '<b><a https://x.org>書</a></b>的'],
  ['abc**（括號）**文字', 'abc<b>（括號）</b>文字'],
  ['**粗*斜體。*字**好', '<b>粗<i>斜體。</i>字</b>好'],
  ['**甲：**乙**丙：**丁', '<b>甲：</b>乙<b>丙：</b>丁'],
  ['**𠮷：**請', '<b>𠮷：</b>請'],
  ['**このアスタリスクは。**この文', '<b>このアスタリスクは。</b>この文'],
  ['**별표(괄호)**이 문장', '<b>별표(괄호)</b>이 문장'],
  ['**สรุป:**ข้อความ', '<b>สรุป:</b>ข้อความ'],
  ['**ملاحظة:**النص', '<b>ملاحظة:</b>النص'],
  ['**Label:**text', '<b>Label:</b>text'],
  ['**Итог.**Далее', '<b>Итог.</b>Далее'],
  ['a**"b"**c', 'a<b>"b"</b>c'],
  ['**API**s, walk**ing**, un**believ**able', '<b>API</b>s, walk<b>ing</b>, un<b>believ</b>able'],
  ['**open source**-based', '<b>open source</b>-based'],
  ['**done ✅**text', '<b>done ✅</b>text'],
  ['_Note: this_ and __two words__', '<i>Note: this</i> and <b>two words</b>'],
])('a mark beside any script is a mark: %s', (markdown, read) => {
  expect(shown(parse(markdown))).toBe(read);
});

test.each([
  '2 * 3 = 6，4 * 5',
  '** 不是：** 請',
  '**未完：請',
  '大約~5元到~6元',
  '檔名_一_二',
  '＊＊非：＊＊請',
  'a **b **c',
  '2*3*4 and x**2 + y**2, (a+b)**n and (c+d)**m, x**-1 and y**-2',
  'width*height*depth, a*b and c*d, 5*3 is 15',
  'f(*args, **kwargs) or g(*rest), a=*p and b=*q',
  'src/*/test/*.ts and **/*.ts, Accept: */*, text/*, .*foo or .*bar',
  '__init__.py, __init__ and __main__.py',
  '_private, _single_leading, single_trailing_ and _single_leading',
  'snake_case, MAX_SIZE_, self._x and self._y_, _f(1) and g_, (_)(_)',
])('what is no mark stays none: %s', (text) => {
  expect(shown(parse(text))).toBe(text);
});

test('code and escapes keep their characters', () => {
  expect(shown(parse('`**碼。**請` \\*\\*不是。\\*\\*請'))).toBe('<c>**碼。**請</c> **不是。**請');
});

test('the text that marks are looked for in is as long, and the same where there are none', () => {
  const part = fc.constantFrom(...'重：（カ가a ".🙂\n𠮷', '**', '*', '~~', '_', '__');
  forAll([fc.array(part, { maxLength: 30 })], (parts) => {
    const text = parts.join('');
    expect(maskNonMarks(text)).toHaveLength(text.length);
    if (!/[*_~]/.test(text)) expect(maskNonMarks(text)).toBe(text);
  });
});

const PATTERNS = '* **： 重** **重： *（ ：* ~~。 **" *重_ 「** [**重：** `*： ***重。***請'.split(' ');

test.each(PATTERNS)('200,000 characters of %s are read within two seconds of CPU, and none is lost', (pattern) => {
  const text = `重 ${pattern.repeat(Math.ceil(200_000 / pattern.length))}`;
  const startedMs = cpuMs();
  const letters = (said: string) => said.replaceAll('[rule]', '').replaceAll(/[\s*~_`<>/bisc]/g, '');
  expect(letters(shown(parse(text)))).toBe(letters(text));
  expect(cpuMs() - startedMs).toBeLessThan(2_000);
});
